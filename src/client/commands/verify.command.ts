import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type ClientCommand, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { assertFormat, EXTENSION, fileHashOf, TOKEN_EXTENSION } from '../api/files.js';

interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}

export const verify: ClientCommand = {
  name: 'verify',
  usage: 'FILE [--signature FILE] [--key NAME] [--format raw|cms|jws|sigstore-bundle]',
  meaning: 'says whether the signature beside the file is one of ours; ends with 1 when it is not',
  options: {
    signature: { type: 'string', short: 's' },
    key: { type: 'string', short: 'k' },
    format: { type: 'string', short: 'f' },
    algorithm: { type: 'string', short: 'a' },
    scheme: { type: 'string' },
  },
  async run({ options, positionals, api, print }) {
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw usageError('verify takes one file.');
    const { format, path } = signatureOf(file, text(options, 'format'), text(options, 'signature'));
    const algorithm = text(options, 'algorithm') ?? 'sha256';
    const token = `${path}${TOKEN_EXTENSION}`;
    const body = {
      digest: await fileHashOf(file, algorithm),
      algorithm,
      format,
      key: text(options, 'key'),
      scheme: text(options, 'scheme'),
      signature: await base64Of(path),
      timestamp: existsSync(token) ? await base64Of(token) : undefined,
    };
    const answer = await (await api()).call('POST', '/api/v1/verify', { body, repeatable: true });
    const lines = (answer.checks as Check[]).map(
      ({ check, ok, detail }) => `${ok ? 'ok ' : 'BAD'} ${check}: ${detail}`,
    );
    print(answer, [...lines, answer.valid === true ? 'valid' : 'NOT VALID']);
    return answer.valid === true ? EXIT.done : EXIT.failed;
  },
};

/** The format that was named, or that of the signature that lies beside the file. */
function signatureOf(
  file: string,
  given: string | undefined,
  path: string | undefined,
): { format: string; path: string } {
  if (given !== undefined) assertFormat(given);
  const formats = given === undefined ? Object.keys(EXTENSION) : [given];
  const beside = formats.map((format) => ({ format, path: `${file}${EXTENSION[format]}` }));
  if (path !== undefined) {
    const format = given ?? formats.find((one) => path.endsWith(EXTENSION[one] ?? '/')) ?? 'raw';
    return { format, path };
  }
  const found = beside.filter((one) => existsSync(one.path));
  const [only, ...others] = found;
  if (only === undefined) throw new ClientError(EXIT.failed, `There is no signature beside ${file}.`);
  if (others.length > 0) throw usageError(`There are several signatures beside ${file}: name one by --format.`);
  return only;
}

async function base64Of(path: string): Promise<string> {
  try {
    return (await readFile(path)).toString('base64');
  } catch {
    throw new ClientError(EXIT.failed, `${path} cannot be read.`);
  }
}
