import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { grepEvidence } from './evidence-grep.mjs';

/** File with issued secrets in SW_TEST_EVIDENCE. The tests also store logs and copies of databases in this directory. */
const SECRETS = 'secrets';

/**
 * findIssued searches everything that a test run logged and stored for every secret that the run issued, both verbatim and in PostgreSQL's hex format for bytea
 * values.
 * @param {string} directory
 * @returns {{ secrets: number, files: number, bytes: number, found: { file: string, beginning: string }[] }} found: only the beginning of each secret
 */
export function findIssued(directory) {
  const secrets = existsSync(path.join(directory, SECRETS)) ? uniqueLines(path.join(directory, SECRETS)) : [];
  const files = readdirSync(directory).filter((name) => name !== SECRETS && name !== 'patterns');
  const bytes = files.reduce((sum, name) => sum + statSync(path.join(directory, name)).size, 0);
  if (secrets.length === 0 || files.length === 0)
    return { secrets: secrets.length, files: files.length, bytes, found: [] };
  const patterns = path.join(directory, 'patterns');
  const forms = secrets.flatMap((secret) => [secret, Buffer.from(secret).toString('hex')]);
  writeFileSync(patterns, `${forms.join('\n')}\n`, { mode: 0o600 });
  try {
    return { secrets: secrets.length, files: files.length, bytes, found: grep(patterns, directory, files) };
  } finally {
    rmSync(patterns);
  }
}

function grep(patterns, directory, files) {
  return grepEvidence(directory, ['-aFoH', '-f', patterns, '--', ...files]).map((hit) => {
    const [file = '', ...rest] = hit.split(':');
    return { file, beginning: `${rest.join(':').slice(0, 12)}…` };
  });
}

const uniqueLines = (file) => [
  ...new Set(
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== ''),
  ),
];
