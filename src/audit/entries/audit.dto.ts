import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { Moment, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { PageQuery } from '../../platform/http/page.js';
import { AUDIT_OUTCOMES, type AuditOutcome } from './audit-entry.entity.js';
import type { PlacedEntry } from './audit.service.js';

/** PRINTABLE matches IDs, whose formats differ but contain only printable characters. */
const PRINTABLE = /^\P{C}+$/u;

export class AuditQuery extends PageQuery {
  /** An action, or a group of actions such as `signing.*`. @example signing.* */
  @Optional(Text(1, 100))
  @Matches(/^[a-z0-9-]+(?:\.[a-z0-9-]+)*(?:\.\*)?$/, {
    message: 'action must be a dotted name such as signing.signed, or a prefix such as signing.*',
  })
  action?: string;
  /** Only entries whose actor is the user, API key or client with this ID. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(Text(1, 100)) @Matches(PRINTABLE) actor?: string;
  @Optional(OneOf(AUDIT_OUTCOMES)) outcome?: AuditOutcome;
  /** Only entries about the target with this ID. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(Text(1, 200)) @Matches(PRINTABLE) target?: string;
  /** Only entries of the refused or failed call with this X-Request-Id (`requestId` in the error response). @example 0b9a7a9e-4c3f-4f6e-9a51-0a6c1c1f5b1d */
  @Optional(Text(1, 200)) @Matches(PRINTABLE) correlation?: string;
  /** Only entries at or after this time. */
  @Optional(Moment()) from?: Date;
  /** Only entries before this time. */
  @Optional(Moment()) to?: Date;
}

export class AuditPartyView {
  /** @example api-key */
  kind: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
}

export class AuditActorView extends AuditPartyView {
  /** @example 'release pipeline' */
  name: string;
}

export class AuditEntryView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  at: Date;
  /** @example signing.signed */
  action: string;
  outcome: AuditOutcome;
  actor: AuditActorView;
  target: AuditPartyView;
  /** X-Request-Id of the call that caused the entry. @example 7b0c9f5e-53a2-4a39-8a53-0a4d7d1f7d11 */
  correlation: string;
  /** IP address of the client. @example 192.0.2.17 */
  source: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { from: 'PROCESSING', to: 'SIGNED', attempt: 1 },
  })
  detail: Record<string, unknown>;
  /** Index of the entry's leaf in the log; null until the entry has a leaf. @example 4711 */
  @ApiProperty({ type: 'integer', nullable: true }) leaf: number | null;
  /**
   * Time at which the entry was queued for the log. Null once the entry has a leaf, which is appended after about a second. An entry with neither `leaf` nor
   * `waitsSince` was not written by this service.
   */
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true, example: null }) waitsSince: Date | null;

  static of({ entry, leaf, waits }: PlacedEntry): AuditEntryView {
    return {
      id: entry.id,
      at: entry.at,
      action: entry.action,
      outcome: entry.outcome,
      actor: { kind: entry.actorKind, id: entry.actorId, name: entry.actorName },
      target: { kind: entry.targetKind, id: entry.targetId },
      correlation: entry.correlation,
      source: entry.source,
      detail: entry.detail,
      leaf,
      waitsSince: leaf === null && waits ? entry.at : null,
    };
  }
}

export class AuditPage extends PageOf(AuditEntryView) {}
