import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { onFilledSchema, unknownTables } from './plans/filled-schema.mjs';
import { WholeScans } from './plans/whole-scans.mjs';

/** What a statement ends with that is sent with a time limit of its own: whoever sends it has another way when it is stopped. */
const BOUNDED = /-- ended after \d+ ms$/;
const MAKES_TEMPORARY = /^\s*CREATE TEMP/i;
/** What a temporary table is filled from. */
const FILLED_FROM = /^\s*CREATE TEMP\w* TABLE [^;]*? AS (?=SELECT|WITH)/i;

/**
 * Statements that read a growing table whole by what they are for: `holds` is a part of the statement as it stands in `file`, `why` the reason.
 *
 * @type {{ file: string, holds: string, why: string }[]}
 */
const READS_ALL = JSON.parse(readFileSync(new URL('plans/statements-that-read-all.json', import.meta.url), 'utf8'));

/**
 * Asks PostgreSQL how it would run every statement that the service has sent during its tests, on tables that have rows and look large. A statement that
 * reads a growing table from end to end has no index to go by: it gets slower with every day.
 *
 * @param {{ adminUrl: string, evidence: string }} from the server of the tests, and where they noted the statements
 * @returns {Promise<{ explained: number, findings: string[], unused: string[] }>} unused: exceptions that no statement needed
 */
export function explainStatements({ adminUrl, evidence }) {
  const statements = statementsIn(evidence);
  return onFilledSchema(adminUrl, (client) => explainEach(client, statements));
}

/** Temporary tables stay for the check. Twice: one may be filled from another. */
async function makeTemporary(client, statements) {
  const texts = statements
    .filter((one) => MAKES_TEMPORARY.test(one))
    .map((one) => one.replace(/ ON COMMIT DROP\b/i, ''));
  for (const text of [...texts, ...texts]) await client.query(text).catch(() => undefined);
}

/** Each once, in an order that does not depend on when it was sent. */
function statementsIn(folder) {
  const files = readdirSync(folder)
    .filter((name) => name.startsWith('statements-'))
    .map((file) => readFileSync(path.join(folder, file), 'utf8'));
  const texts = files.flatMap((text) => text.split('\n').filter((line) => line !== ''));
  return [...new Set(texts)].sort().map((line) => JSON.parse(line));
}

async function explainEach(client, statements) {
  await makeTemporary(client, statements);
  const scans = await WholeScans.on(client);
  const findings = await unknownTables(client);
  const used = new Set();
  let explained = 0;
  for (const text of statements) {
    const asked = text.replace(FILLED_FROM, '');
    if (MAKES_TEMPORARY.test(asked) || /;\s*\S/.test(text) || BOUNDED.test(text)) continue;
    const { found, fault } = await scans.of(asked);
    if (fault === undefined) explained += 1;
    // Tables that the tests make themselves, and catalogs, are not of this schema.
    else if (!/does not exist/.test(fault)) findings.push(`not explained (${fault}): ${short(text)}`);
    const exception = READS_ALL.find(({ holds }) => inOneLine(text).includes(holds));
    if (exception === undefined) findings.push(...found.map((scan) => `${scan}: ${short(text)}`));
    else if (found.length > 0) used.add(exception);
  }
  return { explained, findings, unused: READS_ALL.filter((one) => !used.has(one)).map(({ holds }) => holds) };
}

const inOneLine = (text) => text.replaceAll(/\s+/g, ' ').trim();

/** Beginning and end: what is between them is mostly the list of columns. */
function short(text) {
  const line = inOneLine(text);
  return line.length <= 300 ? line : `${line.slice(0, 100)} … ${line.slice(-200)}`;
}
