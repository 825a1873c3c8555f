import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { onFilledSchema, unknownTables } from './plans/filled-schema.mjs';
import { WholeScans } from './plans/whole-scans.mjs';

/** Suffix of a statement with a separate time limit. The caller has a fallback in case the statement exceeds the time limit. */
const BOUNDED = /-- cancelled after \d+ ms$/;
const MAKES_TEMPORARY = /^\s*CREATE TEMP/i;
/** Matches the part of a statement that precedes the query whose rows fill a temporary table. */
const FILLED_FROM = /^\s*CREATE TEMP\w* TABLE [^;]*? AS (?=SELECT|WITH)/i;

/**
 * Statements whose purpose requires reading a whole growing table: `holds` is a part of the statement as written in `file`, `why` the reason.
 *
 * @type {{ file: string, holds: string, why: string }[]}
 */
const READS_ALL = JSON.parse(readFileSync(new URL('plans/statements-that-read-all.json', import.meta.url), 'utf8'));

/**
 * explainStatements explains every statement that the service sent during the tests, on tables that have rows and look large. A statement that reads a growing
 * table from end to end has no usable index and becomes slower every day.
 *
 * @param {{ adminUrl: string, evidence: string }} from the test server, and the directory with the recorded statements
 * @returns {Promise<{ explained: number, findings: string[], unused: string[] }>} unused: exceptions that no statement needed
 */
export function explainStatements({ adminUrl, evidence }) {
  const statements = statementsIn(evidence);
  return onFilledSchema(adminUrl, (client) => explainEach(client, statements));
}

/** Creates the temporary tables that the statements need. Runs twice, because a temporary table may be filled from another temporary table. */
async function makeTemporary(client, statements) {
  const texts = statements
    .filter((one) => MAKES_TEMPORARY.test(one))
    .map((one) => one.replace(/ ON COMMIT DROP\b/i, ''));
  for (const text of [...texts, ...texts]) await client.query(text).catch(() => undefined);
}

/** Returns the distinct statements in a stable order. The text after the last line feed is a statement that a killed process did not finish recording. */
function statementsIn(folder) {
  const files = readdirSync(folder)
    .filter((name) => name.startsWith('statements-'))
    .map((file) => readFileSync(path.join(folder, file), 'utf8'));
  const texts = files.flatMap((text) => text.split('\n').slice(0, -1));
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
    // Tables created by the tests themselves, and catalogs, are not part of this schema.
    else if (!/does not exist/.test(fault)) findings.push(`not explained (${fault}): ${short(text)}`);
    const exception = READS_ALL.find(({ holds }) => inOneLine(text).includes(holds));
    if (exception === undefined) findings.push(...found.map((scan) => `${scan}: ${short(text)}`));
    else if (found.length > 0) used.add(exception);
  }
  return { explained, findings, unused: READS_ALL.filter((one) => !used.has(one)).map(({ holds }) => holds) };
}

const inOneLine = (text) => text.replaceAll(/\s+/g, ' ').trim();

/** Returns the beginning and end of a statement. The middle of a statement is mostly the list of columns. */
function short(text) {
  const line = inOneLine(text);
  return line.length <= 300 ? line : `${line.slice(0, 100)} … ${line.slice(-200)}`;
}
