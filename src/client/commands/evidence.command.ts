import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { EvidenceContent } from '../../verifier/evidence-content.js';
import type { EvidenceFile } from '../../verifier/evidence-file.js';
import { examineEvidence } from '../../verifier/evidence-verifier.js';
import { type ClientCommand, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';
import { readKey } from '../api/log-trust.js';
import { readJsonObject } from '../../platform/json/strict-json.js';

export const evidence: ClientCommand = {
  name: 'evidence',
  usage: 'verify FILE [--key FILE] [--content FILE]',
  meaning: 'verifies the evidence of a signature offline, and with --content that the signature is for that file',
  options: { key: { type: 'string' }, content: { type: 'string' } },
  forms: { verify: { uses: ['key', 'content'], when: 'when evidence is verified', isOffline: true } },
  async run({ options, positionals, print, note }) {
    const [what, file, ...more] = positionals;
    if (what !== 'verify' || file === undefined || more.length > 0) throw usageError('Specify: verify FILE.');
    const keyFile = text(options, 'key');
    if (keyFile === undefined)
      note('No --key was given, so the log key in the file is trusted. This only shows that the file is consistent.');
    const logKey = keyFile === undefined ? undefined : await readKey(keyFile);
    const read = await readEvidence(file);
    const content = text(options, 'content');
    const { faults, unsaid } = examineEvidence(read, { logKey });
    if (faults.length === 0 && content !== undefined) faults.push(...(await faultsOfContent(read, content)));
    for (const one of unsaid) note(`Stated only in the file: ${one}.`);
    const valid = faults.length === 0;
    const { requestId, digest, algorithm } = read.request ?? {};
    print({ valid, requestId, digest, algorithm, key: read.key?.name, faults, unsaid }, [
      ...faults.map((fault) => `BAD ${fault}`),
      valid ? `valid: ${algorithm} ${digest} by ${read.key.name} v${read.key.version}` : 'NOT VALID',
    ]);
    return valid ? EXIT.done : EXIT.failed;
  },
};

/** Compares a file with evidence. The file is read in chunks, because it can be larger than memory. */
async function faultsOfContent(read: EvidenceFile, file: string): Promise<string[]> {
  const content = new EvidenceContent(read);
  try {
    for await (const piece of createReadStream(file)) content.update(piece as Buffer);
  } catch (error) {
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${(error as Error).message}`);
  }
  try {
    return content.faults();
  } catch (error) {
    return [`the signature cannot be verified here: ${(error as Error).message}`];
  }
}

/**
 * Explains why the content of a file is not evidence. Saving an error response is a common mistake, and its problem details are more helpful than a list of
 * missing members.
 */
function contentOf({ title, status, detail, code }: Record<string, unknown>): string {
  if (typeof detail === 'string' && typeof code === 'string')
    return `it is the error response of a rejected call: ${detail} [${code}]`.replace(/\.? \[/, ' [');
  if (typeof title === 'string' && typeof status === 'number')
    return `it is the error response of a rejected call: ${status} ${title}`;
  return 'evidence must have the members request, key and log';
}

async function readEvidence(file: string): Promise<EvidenceFile> {
  let read: Record<string, unknown>;
  try {
    read = readJsonObject(await readFile(file));
  } catch (error) {
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${(error as Error).message}`);
  }
  const { request, key, log } = read as Partial<EvidenceFile>;
  if ([request, key, log].every((member) => typeof member === 'object' && member !== null))
    return read as unknown as EvidenceFile;
  throw new ClientError(EXIT.failed, `${file} is not evidence; ${contentOf(read)}.`);
}
