import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isId } from '../../platform/database/new-id.js';
import { LogVerifier } from '../../verifier/log-verifier.js';
import { readJson } from '../../platform/json/strict-json.js';

/** RevokedSince contains the IDs of users and API keys that were disabled or revoked after the backup. */
export interface RevokedSince {
  readonly apiKeys: readonly string[];
  readonly people: readonly string[];
  /** Number of occurrences of each action after the backup. */
  readonly actions: ReadonlyMap<string, number>;
  /** Faults found in the export. */
  readonly findings: readonly string[];
}

export const NOTHING_KNOWN: RevokedSince = { apiKeys: [], people: [], actions: new Map(), findings: [] };

interface LoggedEntry {
  readonly action?: unknown;
  readonly target?: { readonly id?: unknown };
  readonly detail?: { readonly disabled?: unknown };
}

/**
 * readNewerLog reads an auditor's export of the audit log that is newer than the database (`sealwright log`, GET /api/v1/audit/log/export).
 *
 * @param from number of leaves in the database, which lacks all later leaves
 * @param publicKey public key of the log, SubjectPublicKeyInfo in DER
 */
export async function readNewerLog(file: string, from: number, publicKey: Buffer | undefined): Promise<RevokedSince> {
  const verifier = new LogVerifier(publicKey === undefined ? {} : { publicKey });
  const apiKeys = new Set<string>();
  const people = new Set<string>();
  const actions = new Map<string, number>();
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    verifier.line(line);
    const entry = entryIn(line, from);
    if (entry === undefined || typeof entry.action !== 'string') continue;
    actions.set(entry.action, (actions.get(entry.action) ?? 0) + 1);
    const id = entry.target?.id;
    if (typeof id !== 'string' || !isId(id)) continue;
    if (entry.action === 'api-key.revoked') apiKeys.add(id);
    if (entry.action === 'user.changed') remember(people, id, entry.detail?.disabled);
  }
  const findings = verifier.end().findings.map(({ index, detail }) => `${index ?? 'the log'}: ${detail}`);
  return { apiKeys: [...apiKeys], people: [...people], actions, findings };
}

/** Updates the set of disabled people. The last entry about a user takes precedence. */
function remember(people: Set<string>, id: string, disabled: unknown): void {
  if (disabled === true) people.add(id);
  if (disabled === false) people.delete(id);
}

/** Returns the entry in a line if the leaf is missing in the database; otherwise undefined. */
function entryIn(line: string, from: number): LoggedEntry | undefined {
  try {
    const { index, data } = readJson(line) as { index?: unknown; data?: LoggedEntry | null };
    return typeof index === 'number' && index >= from ? (data ?? undefined) : undefined;
  } catch {
    return undefined;
  }
}
