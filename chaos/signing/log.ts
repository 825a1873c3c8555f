import { createPublicKey } from 'node:crypto';
import { LogVerifier } from '../../src/verifier/log-verifier.js';
import type { LogEvidence } from './evidence.js';

/** Reads rows from the run's database. */
interface Rows {
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** Reads the log as an auditor does: first the key, then the export, which the offline verifier checks line by line. */
export async function readLog(database: Rows, url: string, apiKey: string): Promise<LogEvidence> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const key = (await (await fetch(`${url}/api/v1/audit/log/key`, { headers })).json()) as { publicKey: string };
  const publicKey = createPublicKey(key.publicKey).export({ type: 'spki', format: 'der' });
  const text = await (await fetch(`${url}/api/v1/audit/log/export`, { headers })).text();
  const verifier = new LogVerifier({ publicKey });
  const lines = text.trimEnd().split('\n');
  for (const line of lines) verifier.line(line);
  const [made] = await database.sql<{ ckaId: string; origin: string }>(
    `SELECT encode(cka_id, 'hex') AS "ckaId", origin FROM log_key WHERE public_key IS NOT NULL`,
  );
  const [count] = await database.sql<{ entries: number }>(`SELECT count(*)::int AS entries FROM audit_entry`);
  return {
    ckaId: made?.ckaId ?? '',
    origin: made?.origin ?? '',
    leaves: lines.slice(1).map((line) => Buffer.from((JSON.parse(line) as { hash: string }).hash, 'base64')),
    entries: count?.entries ?? 0,
    findings: verifier.end().findings.map(({ index, detail }) => `leaf ${index ?? '-'}: ${detail}`),
  };
}
