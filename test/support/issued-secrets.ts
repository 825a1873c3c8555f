import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';

/**
 * Collects the secrets, logs and rows of a test run for a search afterwards: no issued secret may appear in a log, or in plain text in a
 * database. Without SW_TEST_EVIDENCE (when single files run), nothing is collected.
 */
const DIRECTORY = process.env['SW_TEST_EVIDENCE'];
/** Matches the service's own secrets by their prefix, and JWTs by their three base64url parts. */
const ISSUED = /\bsw_[A-Za-z0-9]+_[A-Za-z0-9]{20,}|(?<![\w-])eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{20,}/g;
/** Matches secrets chosen by callers, and secrets returned once in a named member. */
const NAMED = /"(?:password|currentPassword|clientSecret|client_secret|secret)":"([\w./+=-]{12,})"/g;
const RECOVERY = /\b(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}\b/g;

/** Collects the secrets of an HTTP exchange. A rejected password is not a secret. */
export function noteExchange(asked: string, status: number, headers: Headers, answered: string): void {
  if (DIRECTORY === undefined || status >= 300) return;
  const texts = [asked, answered, headers.getSetCookie().join('\n')];
  const found = texts.flatMap((text) => [
    ...(text.match(ISSUED) ?? []),
    ...(text.match(RECOVERY) ?? []),
    ...Array.from(text.matchAll(NAMED), ([, secret = '']) => secret),
  ]);
  if (found.length > 0) appendFileSync(join(DIRECTORY, 'secrets'), `${found.join('\n')}\n`, { mode: 0o600 });
}

/** Appends process output to the evidence. */
export function keepLog(pid: number | undefined, chunk: Buffer): void {
  if (DIRECTORY !== undefined) appendFileSync(join(DIRECTORY, `log-${pid}`), chunk);
}

/** Copies all rows of all tables before the database is dropped. Skips a database that no longer responds. */
export async function keepDatabase(url: string): Promise<void> {
  if (DIRECTORY === undefined) return;
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const name = new URL(url).pathname.slice(1);
    const query = async (text: string) => (await client.query<Record<string, string>>(text)).rows;
    for (const { table } of await query(`SELECT tablename AS table FROM pg_tables WHERE schemaname = 'public'`)) {
      const rows = await query(`SELECT t::text AS row FROM "${table}" t`);
      if (rows.length > 0)
        appendFileSync(join(DIRECTORY, `database-${name}-${table}`), rows.map(({ row }) => `${row}\n`).join(''));
    }
  } catch {
    // The error is expected if a test has stopped the server or dropped the database.
  } finally {
    await client.end().catch(() => undefined);
  }
}
