import type { Acknowledged } from './clients.js';

/** Reads rows from the current leader of the database. */
export interface Rows {
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
}

interface RequestRow {
  readonly id: string;
  readonly reference: string;
  readonly status: string;
  readonly signature: string | null;
  readonly signed: number;
}

interface DocumentRow {
  readonly name: string;
  readonly documents: number;
  readonly places: number;
}

/** Outcome of the work that was acknowledged to clients. */
export interface Verdict {
  readonly requests: number;
  readonly documents: number;
  readonly lost: readonly string[];
  readonly twice: readonly string[];
}

/** Compares all acknowledged work with the rows in the database. Must be called when no work is in progress. */
export async function judge(database: Rows, acknowledged: Iterable<Acknowledged>): Promise<Verdict> {
  const requests = await database.sql<RequestRow>(
    `SELECT r.id, r.reference, r.status, encode(r.signature, 'base64') AS signature,
       (SELECT count(*)::int FROM audit_entry e WHERE e.target_id = r.id::text AND e.action = 'signing.signed') AS signed
     FROM signing_request r WHERE r.reference LIKE 'cluster-%'`,
  );
  const documents = await database.sql<DocumentRow>(
    `SELECT s.name, (SELECT count(*)::int FROM inventory_document d WHERE d.source_id = s.id) AS documents,
       (SELECT count(*)::int FROM asset_occurrence o WHERE o.source_id = s.id) AS places
     FROM inventory_source s WHERE s.name LIKE 'cluster-%'`,
  );
  const requestsOf = Map.groupBy(requests, ({ reference }) => reference);
  const documentOf = new Map(documents.map((row) => [row.name, row]));
  const faults = [...acknowledged].map((one) =>
    one.kind === 'push' ? documentFaults(one, documentOf.get(one.name)) : requestFaults(one, requestsOf.get(one.name)),
  );
  return {
    requests: requests.length,
    documents: documents.length,
    lost: faults.flatMap(({ lost }) => lost),
    twice: [...faults.flatMap(({ twice }) => twice), ...unaskedTwice(requestsOf)],
  };
}

interface Faults {
  readonly lost: string[];
  readonly twice: string[];
}

function requestFaults({ name, ids, signatures }: Acknowledged, rows: readonly RequestRow[] = []): Faults {
  const [row] = rows;
  if (row === undefined) return { lost: [`${name}: no row`], twice: [] };
  const lost: string[] = [];
  const twice: string[] = [];
  if (!ids.has(row.id)) lost.push(`${name}: the id that was answered is gone`);
  if (row.status !== 'SIGNED') lost.push(`${name}: ${row.status}`);
  const stored = row.signature?.replaceAll('\n', '');
  for (const signature of signatures) if (signature !== stored) lost.push(`${name}: another signature is stored`);
  if (ids.size > 1 || signatures.size > 1) twice.push(`${name}: ${ids.size} ids, ${signatures.size} signatures`);
  if (row.signed > 1) twice.push(`${name}: ${row.signed} signatures in the audit log`);
  return { lost, twice };
}

function documentFaults({ name }: Acknowledged, row: DocumentRow | undefined): Faults {
  if (row === undefined || row.documents === 0 || row.places === 0)
    return { lost: [`${name}: no document, or no asset of it`], twice: [] };
  const isTwice = row.documents > 1 || row.places > 1;
  return { lost: [], twice: isTwice ? [`${name}: ${row.documents} documents, ${row.places} places`] : [] };
}

/** Returns unacknowledged work that has more than one row. Like acknowledged work, unacknowledged work must not be done twice. */
function unaskedTwice(requestsOf: ReadonlyMap<string, readonly RequestRow[]>): string[] {
  return [...requestsOf].filter(([, rows]) => rows.length > 1).map(([name, rows]) => `${name}: ${rows.length} rows`);
}
