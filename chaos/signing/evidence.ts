import type { JournalEntry } from '../../test/fakes/pkcs11-shim/shim.js';
import type { DigestAlgorithm, KeyEvidence, SignatureScheme } from '../../src/hsm/key-vault.js';
import { type ApprovalRow, readApprovals } from './approvals.js';
import type { Environment } from './environment.js';
import type { Intent } from './intents.js';
import type { Answer } from './load.js';
import type { TokenKey } from './token.js';

export interface RequestRow {
  readonly id: string;
  readonly status: string;
  readonly digest: Buffer;
  readonly algorithm: DigestAlgorithm;
  readonly scheme: SignatureScheme;
  readonly keyId: string;
  readonly keyName: string;
  readonly reference: string;
  readonly attempt: number;
  readonly signature: Buffer | null;
  readonly failureCode: string | null;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly finished: number | null;
}

export interface AuditRow {
  readonly id: string;
  readonly action: string;
  readonly targetKind: string;
  readonly targetId: string;
  readonly detail: {
    readonly from?: string;
    readonly to?: string;
    readonly attempt?: number;
    readonly code?: string;
    readonly late?: string;
    readonly signatureSha256?: string;
  };
  /** Commit time of the transaction that wrote the entry, in nanoseconds since 1970. */
  readonly committed: bigint;
  /** Whether the row has not been modified by a later transaction. */
  readonly untouched: boolean;
}

export interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly state: string;
  readonly ckaId: string;
  readonly publicKey: Buffer;
  readonly evidence: KeyEvidence;
}

/** Data on which the invariants are checked. The data is read after the load has ended, all faults have been repaired, and all requests have completed. */
export interface Evidence {
  readonly intents: ReadonlyMap<string, Intent>;
  readonly answers: readonly Answer[];
  /** Names of intents whose client received no response. */
  readonly unanswered: readonly string[];
  readonly rows: readonly RequestRow[];
  /** Entries in commit order. */
  readonly entries: readonly AuditRow[];
  /** Entries of signing requests, by request ID. */
  readonly entriesOf: ReadonlyMap<string, readonly AuditRow[]>;
  /** Resource ID by Idempotency-Key. */
  readonly idempotency: ReadonlyMap<string, string>;
  readonly keys: readonly KeyRow[];
  readonly outboxLeft: number;
  readonly approvals: readonly ApprovalRow[];
  /** IDs of the approvers. */
  readonly members: readonly string[];
  /** Votes by people who are not allowed to vote: the number of refused votes, and a description of each vote that was accepted. */
  readonly refusedVotes: number;
  readonly wrongVotes: readonly string[];
  readonly log: LogEvidence;
  readonly operations: Operations;
  readonly observed: Observed;
  readonly token: readonly TokenKey[];
  /** Places where a secret was found. */
  readonly leaks: readonly string[];
  readonly searched: string;
}

export interface Observed {
  readonly changes: readonly string[];
  readonly reads: number;
  readonly signatures: number;
  readonly entries: number;
}

/** Merkle tree over the audit log. */
export interface LogEvidence {
  /** CKA_ID of the log's key. */
  readonly ckaId: string;
  readonly origin: string;
  /** Hashes of the leaves, in order. */
  readonly leaves: readonly Buffer[];
  /** Number of entries in the audit log. */
  readonly entries: number;
  /** Findings of the offline verifier for the export. */
  readonly findings: readonly string[];
}

/** C_Sign calls, sorted by key and data. */
export interface Operations {
  /** C_Sign calls by request name, in chronological order. */
  readonly byIntent: ReadonlyMap<string, readonly JournalEntry[]>;
  /** C_Sign calls with the digest of a request that had to be refused. */
  readonly ofRefused: readonly JournalEntry[];
  /** C_Sign calls with the canary key, by CKA_ID. */
  readonly canary: readonly JournalEntry[];
  /** C_Sign calls with the audit log's key. */
  readonly ofLog: readonly JournalEntry[];
  /** C_Sign calls with a key of the service over data that no client sent. Only self-tests of new keys are allowed. */
  readonly unasked: readonly JournalEntry[];
  /** C_Sign calls with any other key. */
  readonly foreign: readonly JournalEntry[];
}

const CANARY_ID = Buffer.from('sealwright-canary').toString('hex');

export async function readDatabase(environment: Environment) {
  const rows = await environment.sql<RequestRow>(
    `SELECT id, status, digest, algorithm, scheme, key_id AS "keyId", key_name AS "keyName", reference, attempt, signature,
       failure_code AS "failureCode", (extract(epoch FROM created_at) * 1000)::float8 AS created,
       (extract(epoch FROM finished_at) * 1000)::float8 AS finished FROM signing_request ORDER BY status DESC, key_name, id`,
  );
  const logged = await environment.sql<Omit<AuditRow, 'committed'> & { committed: string }>(
    `SELECT id, action, target_kind AS "targetKind", target_id AS "targetId", detail, xmax = 0 AS untouched,
       (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint::text AS committed FROM audit_entry`,
  );
  const entries: AuditRow[] = logged
    .map((entry) => ({ ...entry, committed: BigInt(entry.committed) * 1000n }))
    .sort((a, b) => compare(a.committed, b.committed) || compare(a.id, b.id));
  const requestEntries = entries.filter(({ targetKind }) => targetKind === 'signing-request');
  const uses = await environment.sql<{ key: string; resource: string }>(
    `SELECT key, resource FROM idempotency_key WHERE operation = 'signDigest'`,
  );
  const keys = await environment.sql<KeyRow>(
    `SELECT k.id, k.name, k.type, k.state, encode(v.cka_id, 'hex') AS "ckaId", v.public_key AS "publicKey", v.evidence
     FROM signing_key k JOIN signing_key_version v ON v.key_id = k.id`,
  );
  const [outbox] = await environment.sql<{ left: number }>(`SELECT count(*)::int AS left FROM outbox_message`);
  return {
    rows,
    entries,
    entriesOf: Map.groupBy(requestEntries, ({ targetId }) => targetId),
    idempotency: new Map(uses.map(({ key, resource }) => [key, resource])),
    keys,
    approvals: await readApprovals(environment),
    outboxLeft: outbox?.left ?? 0,
  };
}

/**
 * Classifies the entries of the shim's journal. The data argument of C_Sign contains the digest: unchanged (PSS, ECDSA), truncated to the curve size (ECDSA),
 * or after a DigestInfo prefix (PKCS #1 v1.5). Every digest in a run is unique.
 */
export function sortOperations(
  journal: readonly JournalEntry[],
  intents: Iterable<Intent>,
  keys: readonly KeyRow[],
  logKey: string,
): Operations {
  const asked = new Map<string, string>();
  const refused = new Set<string>();
  for (const { name, digest, otherDigest } of intents) {
    for (const form of formsOf(digest)) asked.set(form, name);
    for (const form of otherDigest === undefined ? [] : formsOf(otherDigest)) refused.add(form);
  }
  const ofService = new Set(keys.map(({ ckaId }) => ckaId));
  const byIntent = new Map<string, JournalEntry[]>();
  const sorted = { ofRefused: [], canary: [], ofLog: [], unasked: [], foreign: [] } as Record<
    'ofRefused' | 'canary' | 'ofLog' | 'unasked' | 'foreign',
    JournalEntry[]
  >;
  for (const entry of journal) {
    if (entry.kind !== 'ask' && entry.kind !== 'sign') continue;
    const forms = [entry.hex, ...[64, 96, 128].map((length) => entry.hex.slice(-length))];
    const name = forms.map((form) => asked.get(form)).find((found) => found !== undefined);
    if (entry.key === CANARY_ID) sorted.canary.push(entry);
    else if (entry.key === logKey) sorted.ofLog.push(entry);
    else if (!ofService.has(entry.key)) sorted.foreign.push(entry);
    else if (name !== undefined) byIntent.set(name, [...(byIntent.get(name) ?? []), entry]);
    else if (forms.some((form) => refused.has(form))) sorted.ofRefused.push(entry);
    else sorted.unasked.push(entry);
  }
  return { byIntent, ...sorted };
}

function formsOf(digest: Buffer): string[] {
  const hex = digest.toString('hex');
  return [hex, hex.slice(0, 64), hex.slice(0, 96)];
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : Number(a > b);
}
