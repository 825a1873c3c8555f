import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type ClientCommand, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { fileHashOf, signatureOf, TOKEN_EXTENSION } from '../api/files.js';

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

async function base64Of(path: string): Promise<string> {
  try {
    return (await readFile(path)).toString('base64');
  } catch {
    throw new ClientError(EXIT.failed, `${path} cannot be read.`);
  }
}
