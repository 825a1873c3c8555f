import { ApiProperty } from '@nestjs/swagger';
import { Int, Name, Optional, Text } from '../../platform/http/fields/fields.js';
import type { Page } from '../../platform/http/cursors.js';
import { RotationTermsBody, type WindowBody } from '../rotation/api/rotations.dto.js';
import type { NewRotationPolicy, ShownHeldBackKey } from './rotation-policies.service.js';
import type { RotationPolicy } from './rotation-policy.entity.js';

const DAY = 24 * 3600;

export class RotationPolicyBody extends RotationTermsBody {
  /** @example "Once a year" */
  @Name(1, 100) name: string;
  /** Maximum age of keys in days. Older keys are rotated. @example 365 */
  @Int(1, 3650) maxAgeDays: number;
  /** Limits the policy to keys that belong to this owner. @example payments-team */
  @Optional(Text(1, 200)) keyOwner?: string;
  /** Maximum number of rotations that the policy starts per hour. Defaults to 5. @example 5 */
  @Optional(Int(1, 100)) mostPerHour?: number;

  static orderOf(body: RotationPolicyBody): NewRotationPolicy {
    const { name, maxAgeDays, keyOwner = null, mostPerHour = 5, window } = body;
    const { overlapSeconds = DAY, onFailure = 'halt', ignoreManagers = false } = body;
    const settings = { verifySeconds: 3600, overlapSeconds, onFailure, ignoreManagers, ...(window && { window }) };
    return { name, maxAgeDays, keyOwner, mostPerHour, settings };
  }
}

export class HeldBackKeyView implements ShownHeldBackKey {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  keyId: string;
  /** @example SHA256:ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og */
  fingerprint: string;
  /** Problem code; see docs/errors.md. @example rotation.holder-claimed */
  code: string;
  /** @example 'build-7 reports this key in /home/eve/.ssh/id_work of eve. The report is not proven.' */
  detail: string;
  /** @example 2026-11-20T14:00:00Z */
  since: Date;
}

export class RotationPolicyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example "Once a year" */
  name: string;
  /** @example 365 */
  maxAgeDays: number;
  /** @example payments-team */
  keyOwner?: string;
  /** @example 5 */
  mostPerHour: number;
  /** @example 86400 */
  overlapSeconds: number;
  @ApiProperty({ enum: ['halt', 'skip'], example: 'halt' }) onFailure: 'halt' | 'skip';
  /** @example false */
  ignoreManagers: boolean;
  window?: WindowBody;
  /** User who last changed the policy, on whose behalf the policy rotates keys. @example "Ann Example" */
  madeBy: string;
  /**
   * Reason why the service paused the policy: the user who last changed the policy may no longer rotate keys. To resume the policy, a user who may rotate keys
   * must save the policy again.
   * @example 'Paused: …'
   */
  pausedBecause?: string;
  /** Version number, used as the ETag. @example 1 */
  version: number;
  /** @example 2026-11-20T14:00:00Z */
  createdAt: Date;
  /** Time of the next check. @example 2026-11-20T15:00:00Z */
  dueAt: Date;
  /** The 20 keys that the policy most recently skipped, each with the reason. */
  heldBack: HeldBackKeyView[];

  static of(
    { settings, madeBy, keyOwner, ...policy }: RotationPolicy,
    heldBack: readonly ShownHeldBackKey[] = [],
  ): RotationPolicyView {
    const { id, name, maxAgeDays, mostPerHour, pausedBecause, version, createdAt, dueAt } = policy;
    const { overlapSeconds, onFailure, ignoreManagers, window } = settings;
    return {
      id,
      name,
      maxAgeDays,
      keyOwner: keyOwner ?? undefined,
      mostPerHour,
      overlapSeconds,
      onFailure,
      ignoreManagers,
      window,
      madeBy: madeBy.name,
      pausedBecause: pausedBecause ?? undefined,
      version,
      createdAt,
      dueAt,
      heldBack: heldBack.map(({ keyId, fingerprint, code, detail, since }) => ({
        keyId,
        fingerprint,
        code,
        detail,
        since,
      })),
    };
  }
}

export class RotationPolicyPage {
  items: RotationPolicyView[];
  /** Cursor of the next page; null on the last page. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(page: Page<RotationPolicy>, heldBack: ReadonlyMap<string, ShownHeldBackKey[]>): RotationPolicyPage {
    const items = page.items.map((row) => RotationPolicyView.of(row, heldBack.get(row.id)));
    return { items, nextCursor: page.nextCursor };
  }
}
