import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { uuidOf } from '../../platform/database/new-id.js';
import { ApprovalsService } from '../../approvals/approvals.service.js';
import { GrowingRoot, inclusionPath } from '../../verifier/merkle-tree.js';
import type { ManifestLine } from '../requests/shown-batch.js';
import { shownRequest } from '../requests/shown-request.js';
import { SigningEnvelope, type SigningRequest } from '../signing-request.entity.js';

export interface Approved {
  /** The approval document for this request alone. */
  readonly shown: Record<string, unknown>;
  /** For a request in a batch: index in the manifest. */
  readonly place?: number;
  /** For a request in a batch: audit path from the request to the root of the manifest, base64. */
  readonly path?: string[];
}

/** Finds the document that was approved before a request was signed. */
@Injectable()
export class ApprovedRequests {
  constructor(
    private readonly db: DataSource,
    private readonly approvals: ApprovalsService,
  ) {}

  /** Returns the IDs of the audit entries about the voters' sign-ins, as referenced by the entries about the votes. */
  async signInsOf(approvalId: string): Promise<string[]> {
    const rows: { id: string }[] = await this.db.query(
      `SELECT DISTINCT ${uuidOf(`(e.detail ->> 'signIn')`)} AS id FROM audit_entry e
       WHERE e.target_id = $1 AND e.action IN ('approval.approved', 'approval.rejected') AND e.detail ? 'signIn'`,
      [approvalId],
    );
    return rows.flatMap(({ id }) => id ?? []);
  }

  /** Returns the approved document of a request. Returns undefined if no approval was required. */
  async of(request: SigningRequest): Promise<Approved | undefined> {
    const { id, approvalId, enveloped } = request;
    if (approvalId === null) return undefined;
    const whole = await this.approvals.shownOf(this.db.manager, approvalId);
    if (whole['action'] !== 'sign-batch') return { shown: whole };
    const envelope = enveloped ? await this.db.manager.findOneBy(SigningEnvelope, { requestId: id }) : null;
    const lines = whole['items'] as ManifestLine[];
    const place = lines.findIndex(({ requestId }) => requestId === id);
    const hashes = lines.map(({ hash }) => Buffer.from(hash, 'base64'));
    const path = inclusionPath(place, lines.length).map(({ from, to }) => rootOf(hashes.slice(from, to)));
    return { shown: shownRequest(request, envelope ?? undefined).shown, place, path };
  }
}

function rootOf(hashes: readonly Buffer[]): string {
  const tree = new GrowingRoot();
  for (const hash of hashes) tree.add(hash);
  return tree.root().toString('base64');
}
