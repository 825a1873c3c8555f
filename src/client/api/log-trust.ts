import { createPublicKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { base64Bytes } from '../../formats/encoding/base64.js';
import { ClientError, EXIT } from './exit-codes.js';
import { readJsonObject } from '../../platform/json/strict-json.js';
import { OutputFile } from './output-file.js';
import { readTextFile } from '../../platform/text/text-file.js';

/** LogState contains the newest verified checkpoint of a log, and the key that signed the checkpoint. */
export interface LogState {
  readonly log: string;
  /** Public key as SubjectPublicKeyInfo in DER, base64. */
  readonly publicKey: string;
  /** Signed note (C2SP tlog-checkpoint). */
  readonly checkpoint: string;
}

/** LogTrust contains the trusted information about a log before the log is read. */
export interface LogTrust {
  /** Public key of the log in DER. Undefined if no key is known yet. */
  readonly publicKey: Buffer | undefined;
  readonly state: LogState | undefined;
}

/**
 * readTrust reads the trusted key and the last state of a log.
 *
 * @throws ClientError if a file cannot be read, or the two files belong to different logs
 */
export async function readTrust(keyFile: string | undefined, stateFile: string | undefined): Promise<LogTrust> {
  const pinned = keyFile === undefined ? undefined : await readKey(keyFile);
  const state = stateFile === undefined || !existsSync(stateFile) ? undefined : await readState(stateFile);
  const remembered = state === undefined ? undefined : base64Bytes(state.publicKey);
  if (pinned !== undefined && remembered !== undefined && !pinned.equals(remembered))
    throw new ClientError(EXIT.failed, `${stateFile} belongs to a log with a different key than ${keyFile}.`);
  return { publicKey: pinned ?? remembered, state };
}

export async function writeState(file: string, state: LogState): Promise<void> {
  const output = await OutputFile.reserve(file);
  await output.write(`${JSON.stringify(state, null, 2)}\n`);
}

/** Reads a public key from a PEM file, as written by `sealwright log key`, and returns the key in DER. */
export async function readKey(file: string): Promise<Buffer> {
  const pem = await contentOf(file);
  try {
    return createPublicKey(pem).export({ type: 'spki', format: 'der' });
  } catch {
    throw new ClientError(EXIT.failed, `${file} contains no PEM public key.`);
  }
}

async function readState(file: string): Promise<LogState> {
  const text = await contentOf(file);
  try {
    const { log, publicKey, checkpoint } = readJsonObject(text);
    if (typeof log === 'string' && typeof publicKey === 'string' && typeof checkpoint === 'string')
      return { log, publicKey, checkpoint };
  } catch {
    // Invalid JSON is reported below.
  }
  throw new ClientError(EXIT.failed, `${file} is not a state file of this program.`);
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readTextFile(file);
  } catch (error) {
    throw new ClientError(EXIT.failed, `Cannot read ${file}: ${(error as Error).message}`);
  }
}
