import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';

/**
 * Collects the secrets, logs and rows of a run for the search after it: no issued secret may be in a log, or in clear in a
 * database. Without SW_TEST_EVIDENCE (a run of single files) nothing is collected.
 */
const DIRECTORY = process.env['SW_TEST_EVIDENCE'];
/** Our own secrets have a recognisable prefix; JWTs are three parts of base64url. */
const ISSUED = /\bsw_[A-Za-z0-9]+_[A-Za-z0-9]{20,}|(?<![\w-])eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{20,}/g;
/** Secrets that callers chose, and secrets that are shown once as a named member. */
const NAMED = /"(?:password|currentPassword|clientSecret|client_secret|secret)":"([\w./+=-]{12,})"/g;
const RECOVERY = /\b(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}\b/g;

/** Collects the secrets of one HTTP exchange. A password that was refused is not one. */
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

/** Appends output of a process. */
export function keepLog(pid: number | undefined, chunk: Buffer): void {
  if (DIRECTORY !== undefined) appendFileSync(join(DIRECTORY, `log-${pid}`), chunk);
}

/** Copies every row of every table, before the database is dropped. One that does not answer any more is left out. */
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
    // A test stopped the server, or took the database away.
  } finally {
    await client.end().catch(() => undefined);
  }
}
