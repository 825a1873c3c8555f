import type { EntityManager } from 'typeorm';
import { uuidOf } from '../../../platform/database/new-id.js';
import { Problem } from '../../../platform/errors/problem.js';
import { nameFault } from '../../../platform/text/plain-name.js';
import { truncate } from '../../../platform/text/truncate.js';
import type { IngestOrder } from './ingest-order.js';
import type { Remark } from '../../model/document.js';

type Reporter = IngestOrder['caller'];

/** KnownSource is the state of a source before one of its documents is ingested. */
export interface KnownSource {
  /** Owner of the source after the document: `sensor:<id>`, or kind and id of a caller. */
  readonly owner: string;
  /** Context prefixes of the locations reported by individual tools. */
  readonly toolContexts: readonly string[];
  readonly notes: readonly Remark[];
}

/** StoredSource contains the stored values that determine a source's owner. */
export interface StoredSource {
  readonly owner: string | null;
  readonly contexts: string[] | null;
}

/** Matches source names that contain the owner. An owner in the name takes precedence over the first reporter. */
const OF_SOMEBODY = /^((?:sensor|api-key|user|oauth-client|system):[^/]{1,100})(?:\/|$)/;

/**
 * knownSource returns the owner and the state of a source (docs/decisions/0090). The owner is the first reporter, or the owner in the source name
 * (`sensor:<id>/…`). Other callers need `inventory:write`. After a key rotation, the sources of the previous key belong to the new key. Sources of a sensor
 * belong to the sensor, regardless of which key the sensor uses. A source whose owner has no rights left (a deleted sensor, a revoked key or a disabled user)
 * belongs to the next caller who reports to the source. A source that the service itself scans belongs to the service from the first scan.
 *
 * @param stored stored state of the source, if the caller has already read the state
 * @throws Problem 403 `source.owned`, 422 `source.name`
 */
export async function knownSource(
  tx: EntityManager,
  source: { readonly id: string; readonly name: string },
  reporter: Reporter,
  stored?: StoredSource,
): Promise<KnownSource> {
  const row = stored ?? (await storedSource(tx, source.id));
  const self = await principalOf(tx, reporter);
  // A source that the service itself scans belongs to the service, even if another reporter used the source before.
  if (reporter.kind === 'system') return keptBy(self, row);
  const named = OF_SOMEBODY.exec(source.name)?.[1];
  const keep = (kept: string) => ({ owner: kept, toolContexts: row?.contexts ?? [], notes: [] });
  const current = async (owner: string) => (isPrincipal(reporter, self, owner) ? self : holderOf(tx, owner));
  const holderOfName = named === undefined ? undefined : await current(named);
  // After the sensor name, the name of a sensor's source may contain any path on the machine.
  if (row === undefined && holderOfName?.startsWith('sensor:') !== true) assertPlain(source.name);
  if (holderOfName !== undefined) return keep(holderOfName === self ? self : assertMayWrite(reporter, holderOfName));
  // A name that contains a nonexistent owner is treated like any other name.
  const holder = await current(row?.owner ?? self);
  if (holder === undefined) return { ...keptBy(self, row), notes: [TAKEN_OVER] };
  return keep(holder === self ? self : assertMayWrite(reporter, holder));
}

function isPrincipal({ kind, id }: Reporter, self: string, owner: string): boolean {
  return owner === self || owner === `${kind}:${id}`;
}

/** Rejects the name of a new source if the name can be mistaken for another reporter's source. */
function assertPlain(name: string): void {
  const fault = nameFault(name);
  if (fault === undefined) return;
  const detail = `The source name "${truncate(name, 100)}" ${fault}. Report under another name (?source=).`;
  throw new Problem('refused', 'source.name', detail);
}

/**
 * Assigns the source to `self`. A new owner does not inherit the contexts of individual tools, so the next complete document replaces the locations that
 * these tools reported.
 */
function keptBy(self: string, row: StoredSource | undefined): KnownSource {
  return { owner: self, toolContexts: row?.owner === self ? (row.contexts ?? []) : [], notes: [] };
}

function assertMayWrite(reporter: Reporter, owner: string): string {
  if (reporter.mayWrite ?? true) return owner;
  throw new Problem('forbidden', 'source.owned', OWNED, { scope: 'inventory:write' });
}

async function storedSource(tx: EntityManager, id: string): Promise<StoredSource | undefined> {
  const text = 'SELECT owner, tool_contexts AS contexts FROM inventory_source WHERE id = $1';
  const [row] = (await tx.query(text, [id])) as StoredSource[];
  return row;
}

const OWNED =
  'Another reporter owns this source. Report under another name (?source=), or use a key with the inventory:write scope. Revoked keys and deleted sensors do not own sources.';
export const TAKEN_OVER: Remark = {
  pointer: '',
  code: 'source.taken-over',
  detail: 'the previous owner of this source no longer exists; you now own the source',
};

/** Returns the identity of a reporter. For a sensor's API key, the identity is the sensor. */
async function principalOf(tx: EntityManager, { kind, id }: Reporter): Promise<string> {
  if (kind !== 'api-key') return `${kind}:${id}`;
  const [row] = (await tx.query('SELECT sensor_id AS sensor FROM sensor_api_key WHERE api_key_id = $1', [id])) as {
    sensor: string;
  }[];
  return row === undefined ? `${kind}:${id}` : `sensor:${row.sensor}`;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** SQL condition: the API key or client `alias` has no permissions, because its owner or the user to whom it was issued is disabled. */
const isVoid = (alias: string) =>
  `EXISTS (SELECT FROM user_account u WHERE u.disabled AND u.id = ANY(ARRAY[${['owner_id', 'issued_to'].map((column) => uuidOf(`${alias}.${column}`)).join(', ')}]))`;
/** SQL for the newest key in a chain of rotated keys. */
const LAST_KEY = `
  WITH RECURSIVE chain AS (
    SELECT id, replaced_by, revoked_at, owner_id, issued_to FROM api_key WHERE id = $1
    UNION SELECT k.id, k.replaced_by, k.revoked_at, k.owner_id, k.issued_to FROM api_key k JOIN chain c ON k.id = c.replaced_by)
  SELECT 'api-key:' || id AS holder FROM chain k WHERE replaced_by IS NULL AND revoked_at IS NULL AND NOT ${isVoid('k')}`;
const HOLDERS: Readonly<Record<string, string>> = {
  sensor: `SELECT 'sensor:' || id AS holder FROM sensor WHERE id = $1`,
  'api-key': LAST_KEY,
  'oauth-client': `SELECT 'oauth-client:' || id AS holder FROM oauth_client c WHERE id = $1 AND revoked_at IS NULL AND NOT ${isVoid('c')}`,
  user: `SELECT 'user:' || id AS holder FROM user_account WHERE id = $1 AND NOT disabled`,
};

/** Returns the current owner of sources that belonged to `owner`, or undefined if these sources have no owner. */
async function holderOf(tx: EntityManager, owner: string): Promise<string | undefined> {
  const [kind = '', ...rest] = owner.split(':');
  const id = rest.join(':');
  const query = HOLDERS[kind];
  if (query === undefined) return owner;
  if (!UUID.test(id)) return undefined;
  const [row] = (await tx.query(query, [id])) as { holder: string }[];
  return row?.holder;
}
