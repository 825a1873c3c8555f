import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Caller, isOwnedBy } from '../../access/caller.js';
import type { VerifiedIdentity } from '../../access/identity/verified-identity.js';
import { mayDo } from '../../access/scopes.js';
import { missing } from '../../platform/errors/problem.js';
import type { SignatureScheme } from '../../hsm/key-vault.js';
import { RowWatch } from '../../platform/database/row-watch.js';
import { isFinalSigningStatus, SIGNING_STATUSES, type SigningStatus, SigningBatch } from '../signing-request.entity.js';

export interface BatchItem {
  readonly index: number;
  readonly status: SigningStatus | 'REFUSED';
  readonly requestId?: string;
  readonly reference?: string | null;
  readonly scheme?: SignatureScheme;
  readonly key?: { readonly id: string; readonly name: string; readonly version: number };
  readonly signature?: Buffer | null;
  readonly timestampToken?: Buffer | null;
  readonly approvalId?: string | null;
  readonly failure?: { readonly code: string; readonly detail: string };
}

export interface ShownBatch {
  readonly batch: SigningBatch;
  /** Items in the order of the call. Items that have not been recorded yet are missing. */
  readonly items: readonly BatchItem[];
  /** True if every item has a final result. */
  readonly done: boolean;
}

interface Row {
  readonly id: string;
  readonly index: number;
  readonly status: SigningStatus;
  readonly reference: string | null;
  readonly scheme: SignatureScheme;
  readonly keyId: string;
  readonly keyName: string;
  readonly keyVersion: number;
  readonly identity: VerifiedIdentity | null;
  readonly signature: Buffer | null;
  readonly code: string | null;
  readonly detail: string | null;
  readonly token: Buffer | null;
  readonly approvalId: string | null;
}

const FINAL = SIGNING_STATUSES.filter(isFinalSigningStatus)
  .map((status) => `'${status}'`)
  .join(', ');

/** SigningBatchesReader finds batches that the caller may see. */
@Injectable()
export class SigningBatchesReader implements BeforeApplicationShutdown {
  /** Waiting callers are notified once, when the last item is final, because each caller reads all items of the batch. */
  private readonly rows: RowWatch;

  constructor(private readonly db: DataSource) {
    this.rows = new RowWatch((ids) =>
      db.query(
        `SELECT b.id, CASE WHEN EXISTS (SELECT FROM signing_request r WHERE r.batch_id = b.id AND r.status NOT IN (${FINAL})) THEN 'PENDING'
           WHEN (SELECT count(*) FROM signing_request r WHERE r.batch_id = b.id) + coalesce(jsonb_array_length(b.refused), 0) < b.size THEN 'PENDING'
           ELSE 'DONE' END AS mark
         FROM signing_batch b WHERE b.id = ANY($1::uuid[])`,
        [ids],
      ),
    );
  }

  beforeApplicationShutdown(): void {
    this.rows.stop();
  }

  /** Returns the batch as soon as every item is final, or after `seconds`. */
  find(caller: Caller, id: string, seconds = 0): Promise<ShownBatch> {
    return this.rows.until(id, seconds, async () => {
      const row = await this.read(caller, id);
      return { row, mark: row.done ? 'DONE' : 'PENDING', final: row.done };
    });
  }

  private async read(caller: Caller, id: string): Promise<ShownBatch> {
    const batch = await this.db.manager.findOneBy(SigningBatch, { id });
    const rows: Row[] = await this.db.query(
      `SELECT r.id, r.batch_index AS index, r.status, r.reference, r.scheme, r.key_id AS "keyId", r.key_name AS "keyName",
         r.key_version AS "keyVersion", r.identity, r.signature, r.failure_code AS code,
         r.failure_detail AS detail, r.approval_id AS "approvalId", e.timestamp_token AS token
       FROM signing_request r LEFT JOIN signing_envelope e ON e.request_id = r.id AND r.enveloped WHERE r.batch_id = $1`,
      [id],
    );
    const ofThisRun = batch?.requestedBy === caller.id ? (caller.identity ?? null) : null;
    const { identity } = rows[0] ?? { identity: ofThisRun };
    const isTheirs =
      batch !== null && (isOwnedBy(caller, { ownerId: batch.ownerId, identity }) || mayDo(caller.scopes, 'audit:read'));
    if (!isTheirs) throw missing('signing-batch');
    const refused = (batch.refused ?? []).map(({ index, code, detail }) => ({
      index,
      status: 'REFUSED' as const,
      failure: { code, detail },
    }));
    const items = [...rows.map(itemOf), ...refused].sort((one, other) => one.index - other.index);
    const done =
      items.length === batch.size && items.every(({ status }) => status === 'REFUSED' || isFinalSigningStatus(status));
    return { batch, items, done };
  }
}

function itemOf(row: Row): BatchItem {
  const { id, index, status, reference, scheme, signature, code, detail, token, approvalId } = row;
  const key = { id: row.keyId, name: row.keyName, version: row.keyVersion };
  const failure = code === null ? undefined : { code, detail: detail ?? '' };
  const what = { reference, scheme, key, approvalId };
  return { index, status, requestId: id, ...what, signature, timestampToken: token, failure };
}
