import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ApiClient } from '../api/api-client.js';
import { type ClientCommand, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { fileHashOf, foreignSignature, type FoundSignature, signaturesOf, TOKEN_EXTENSION } from '../api/files.js';
import { reportedProgress } from '../api/hash-progress.js';

interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

export const verify: ClientCommand = {
  name: 'verify',
  usage: 'FILE [--signature FILE] [--key NAME] [--format raw|cms|jws|sigstore-bundle]',
  meaning:
    'verifies the signatures next to a file, including certificates and timestamps; exits with 1 if any is invalid',
  options: {
    signature: { type: 'string', short: 's' },
    key: { type: 'string', short: 'k' },
    format: { type: 'string', short: 'f' },
    algorithm: { type: 'string', short: 'a' },
    scheme: { type: 'string' },
  },
  async run({ options, positionals, api, print, note }) {
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw usageError('verify requires exactly one file.');
    const algorithm = text(options, 'algorithm') ?? 'sha256';
    const found = signaturesOf(file, text(options, 'format'), text(options, 'signature'));
    const scheme = text(options, 'scheme');
    if (scheme !== undefined && found.every(({ format }) => NAMES_SCHEME.has(format)))
      throw usageError('--scheme has no effect on signatures that state their scheme. Omit it.');
    const digest = await fileHashOf(file, algorithm, reportedProgress(note));
    const request = { digest, algorithm, key: text(options, 'key'), scheme };
    const client = await api();
    const answers = [];
    for (const one of found) answers.push(await verified(client, one, request));
    const valid = answers.every((answer) => answer.valid);
    const [only, ...others] = answers;
    const lines = answers.flatMap(({ path, checks, valid: isGood }) => [
      ...checks.map(({ check, ok, detail }) => `${ok ? 'ok ' : 'BAD'} ${check}: ${detail}`),
      `${isGood ? 'valid' : 'NOT VALID'}${others.length === 0 ? '' : `: ${path}`}`,
    ]);
    print(others.length === 0 ? only?.answer : { valid, signatures: answers.map(({ path, answer }) => ({ path, ...answer })) }, lines); // prettier-ignore
    return valid ? EXIT.done : EXIT.failed;
  },
};

/** Formats in which a signature names its scheme. */
const NAMES_SCHEME = new Set(['cms', 'jws']);

interface Verified {
  readonly path: string;
  readonly valid: boolean;
  readonly checks: readonly Check[];
  /** Response from the service. */
  readonly answer: object;
}

async function verified(api: ApiClient, { format, path }: FoundSignature, request: object): Promise<Verified> {
  const content = await contentOf(path);
  const foreign = foreignSignature(content, format);
  if (foreign !== undefined) throw new ClientError(EXIT.failed, `${path} is ${foreign}.`);
  const token = `${path}${TOKEN_EXTENSION}`;
  const timestamp = existsSync(token) ? (await contentOf(token)).toString('base64') : undefined;
  const body = { ...request, format, signature: content.toString('base64'), timestamp };
  const answer = await api.call('POST', '/api/v1/verify', { body, repeatable: true });
  return { path, valid: answer.valid === true, checks: answer.checks as Check[], answer };
}

async function contentOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch {
    throw new ClientError(EXIT.failed, `Cannot read ${path}.`);
  }
}
