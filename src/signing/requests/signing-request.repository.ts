import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { type Caller, credentialsOf } from '../../access/caller.js';
import { loggedIdentity } from '../../access/identity/verified-identity.js';
import { POLICY_REVISION } from '../../approvals/policies/approval-subject.port.js';
import { AuditService, type NewEntry } from '../../audit/entries/audit.service.js';
import { Config } from '../../platform/config/config.js';
import { columns, prepared } from '../../platform/database/statements.js';
import { GroupCommit } from '../../platform/database/group-commit.js';
import { Problem } from '../../platform/errors/problem.js';
import { IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { WORKER_ID } from '../../platform/work/claim.js';
import { canonicalJson } from '../../platform/json/canonical-json.js';
import { notWritten } from '../../platform/sealing/sealed-rows.js';
import { Outbox } from '../../platform/queue/outbox.js';
import { tracedCommit } from '../../platform/observability/tracing.js';
import { countUses, SpentKeys } from '../keys/key-usage.js';
import { leaseMs, SIGNING_QUEUE, SWEEP_AFTER_MS } from '../signing-jobs.js';
import type { SigningRequest } from '../signing-request.entity.js';
import type { NewSigningRequest } from './signing-attempt.js';

/** Columns of signing_request that are set for a new request, by property name. */
const COLUMNS = {
  id: 'uuid',
  status: 'text',
  digest: 'bytea',
  algorithm: 'text',
  scheme: 'text',
  format: 'text',
  keyId: 'uuid',
  keyName: 'text',
  keyVersion: 'int',
  certificateId: 'uuid',
  enveloped: 'boolean',
  composed: 'boolean',
  batchId: 'uuid',
  batchIndex: 'int',
  metadata: 'jsonb',
  reference: 'text',
  ownerId: 'text',
  requestedBy: 'text',
  identity: 'jsonb',
  correlation: 'text',
  traceParent: 'text',
  approvalId: 'uuid',
  attempt: 'int',
} as const satisfies Partial<Record<keyof SigningRequest, string>>;
type RecordedColumns = Pick<SigningRequest, keyof typeof COLUMNS>;

const INTO = Object.keys(COLUMNS)
  .map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  .join(', ');
const FROM_ITEM = Object.entries(COLUMNS)
  .map(([name, type]) => (type === 'jsonb' ? `item."${name}"::jsonb` : `item."${name}"`))
  .join(', ');

/**
 * SigningRequestRepository records requests: the intent that is committed before the HSM is called. Concurrent requests are committed in one transaction,
 * with their audit entries, Idempotency-Keys and the usage counts of the keys.
 */
@Injectable()
export class SigningRequestRepository implements OnApplicationShutdown {
  private readonly recordings: GroupCommit<NewSigningRequest, string>;
  private readonly spentKeys = new SpentKeys();

  constructor(
    db: DataSource,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyKeys,
    private readonly outbox: Outbox,
    private readonly config: Config,
  ) {
    this.recordings = new GroupCommit(db, (tx, items) => this.recordIn(tx, items), {
      callerOf: ({ row }) => row.requestedBy,
    });
  }

  /** Commits a request. Returns its ID, or the ID of an earlier request with the same Idempotency-Key. */
  async record(request: NewSigningRequest): Promise<string> {
    const id = await tracedCommit('signing_request', () => this.add(request));
    if (request.row.status === 'QUEUED') this.outbox.committed(SIGNING_QUEUE);
    return id;
  }

  private async add(request: NewSigningRequest): Promise<string> {
    const { keyRevision, use } = request;
    const { keyId } = request.row;
    const isRepeated = async () => (await this.idempotency.known(use)) !== undefined;
    await this.spentKeys.assertNotSpent(keyId, keyRevision, isRepeated);
    try {
      return await this.recordings.add(request);
    } catch (error) {
      this.spentKeys.note(keyId, keyRevision, error);
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.recordings.drained();
  }

  /** Like `record`, inside the caller's transaction. Returns one ID per request, in order. */
  async recordIn(tx: EntityManager, items: readonly NewSigningRequest[]): Promise<string[]> {
    const uses = items.flatMap(({ use }) => (use === undefined ? [] : [use]));
    const resources = await this.idempotency.claim(tx, uses);
    const standsFor = new Map(uses.map((use, i) => [use.resource, resources[i] ?? use.resource]));
    const ids = items.map(({ row: { id } }) => standsFor.get(id) ?? id);
    const fresh = items.filter(({ row }, i) => ids[i] === row.id);
    await countUses(
      tx,
      fresh.map(({ row: { keyId, keyName }, limits }) => ({ keyId, keyName, limits })),
    );
    await this.insert(tx, fresh);
    await this.insertEnvelopes(tx, fresh);
    await this.audit.append(tx, fresh.map(acceptedEntry));
    const queued = fresh.filter(({ row }) => row.status === 'QUEUED').map(({ row }) => row.id);
    await this.outbox.add(tx, SIGNING_QUEUE, queued);
    return ids;
  }

  /**
   * Inserts the requests. The statement checks the key and the policies again, so that a key that has been disabled or changed in the meantime accepts no new
   * request, and a new policy is not missed.
   */
  private async insert(tx: EntityManager, items: readonly NewSigningRequest[]): Promise<void> {
    if (items.length === 0) return;
    const { from, values } = columns<RecordedColumns & { keyRevision: number; policies: number | undefined }>(
      items.map(({ row, keyRevision, policies }) => ({ ...row, keyRevision, policies })),
      { ...COLUMNS, keyRevision: 'int', policies: 'int' },
    );
    const next = values.length + 1;
    const inserted = await prepared<{ at: Date }>(
      tx,
      'record',
      `INSERT INTO signing_request (${INTO}, worker, lease_until, sweep_at, created_at)
       SELECT ${FROM_ITEM},
         CASE item.status WHEN 'PROCESSING' THEN $${next}::uuid END,
         CASE item.status WHEN 'PROCESSING' THEN now() + $${next + 1} * interval '1 ms' END,
         now() + $${next + 2} * interval '1 ms', now()
       FROM ${from} JOIN signing_key ON signing_key.id = item."keyId" AND signing_key.state = 'ACTIVE'
         AND signing_key.revision = item."keyRevision"
         AND (not_before IS NULL OR not_before <= now()) AND (not_after IS NULL OR not_after > now())
       WHERE item.policies IS NULL OR item.policies = ${POLICY_REVISION}
       RETURNING created_at AS at`,
      [...values, WORKER_ID, leaseMs(this.config), SWEEP_AFTER_MS],
    );
    const [first] = inserted;
    if (first === undefined || inserted.length !== items.length) throw await refusalOf(tx, items);
    for (const { row } of items) row.createdAt = first.at;
  }

  private async insertEnvelopes(tx: EntityManager, items: readonly NewSigningRequest[]): Promise<void> {
    const rows = items.flatMap(({ row, envelope }) =>
      envelope === undefined
        ? []
        : [
            {
              request_id: row.id,
              content: envelope.content,
              to_be_signed: envelope.toBeSigned,
              signed_digest: envelope.signedDigest,
              timestamped: envelope.timestamped,
            },
          ],
    );
    if (rows.length === 0) return;
    const { from, values } = columns(rows, {
      request_id: 'uuid',
      content: 'bytea',
      to_be_signed: 'bytea',
      signed_digest: 'bytea',
      timestamped: 'boolean',
    });
    const inserted: unknown[] = await tx.query(
      `INSERT INTO signing_envelope (request_id, content, to_be_signed, signed_digest, timestamped) SELECT * FROM ${from} RETURNING 1`,
      values,
    );
    if (inserted.length !== rows.length) throw notWritten('signing_envelope');
  }
}

/** Returns the reason why `insert` did not insert all requests. */
async function refusalOf(tx: EntityManager, items: readonly NewSigningRequest[]): Promise<Problem> {
  const [row]: { revision: number }[] = await tx.query(`SELECT ${POLICY_REVISION} AS revision`);
  return items.some(({ policies }) => policies !== undefined && policies !== row?.revision)
    ? new Problem(
        'conflict',
        'approval.policies-changed',
        'The approval policies were changed during this call. Repeat the call.',
      )
    : new Problem('conflict', 'signing-key.inactive', 'The key is no longer active.');
}

function acceptedEntry({ row, envelope, caller, keyFacts, policies }: NewSigningRequest): NewEntry {
  const { id, status, attempt, keyId, keyName, keyVersion, algorithm, scheme, format, composed, metadata } = row;
  return {
    action: 'signing.accepted',
    actor: caller,
    target: { kind: 'signing-request', id },
    correlation: row.correlation,
    source: caller.origin.address,
    detail: {
      to: status,
      attempt,
      approval: row.approvalId ?? undefined,
      key: keyName,
      keyVersion,
      algorithm,
      scheme,
      format,
      digest: row.digest.toString('base64'),
      signedDigest: envelope?.signedDigest?.toString('base64'),
      keyId,
      ...keyFacts,
      owner: row.ownerId,
      clients: clientsOf(caller),
      metadataSha256: metadataSha256(metadata),
      reference: row.reference ?? undefined,
      ...loggedIdentity(row.identity),
      enveloped: envelope !== undefined,
      composed: composed || undefined,
      // Revision of all policies; absent if no policy was evaluated.
      policySet: policies,
    },
  };
}

/** Returns the OAuth clients through which a user made the call; undefined if there are none. */
function clientsOf(caller: Caller): string[] | undefined {
  const clients = credentialsOf(caller).filter((id) => id !== caller.id);
  return clients.length === 0 ? undefined : clients;
}

/** Returns the SHA-256 of the canonical JSON, base64. */
export function metadataSha256(metadata: Record<string, unknown>): string {
  return createHash('sha256').update(canonicalJson(metadata)).digest('base64');
}
