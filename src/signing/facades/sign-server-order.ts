import { createHash } from 'node:crypto';
import { DIGEST_BYTES, type DigestAlgorithm } from '../../hsm/key-vault.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { Problem } from '../../platform/errors/problem.js';
import { digestAlgorithm } from '../requests/sign-request-validator.js';
import { WeakValues } from './weak-values.js';
import { truncate } from '../../platform/text/truncate.js';

/** ProcessOrder is the body of a SignServer request, parsed as SignServer does. */
export interface ProcessOrder {
  readonly digest: Buffer;
  readonly algorithm: DigestAlgorithm;
  /** True for the hash of empty data, which clients send to get the certificate. */
  readonly isOfNothing: boolean;
  readonly fileName: string | undefined;
}

const MAX_DATA = 44_000;
const MAX_FILE_NAME = 1024;

/** Parses the body of a request. Throws Problem `request.invalid` that names the invalid field. */
export function processOrder(given: unknown): ProcessOrder {
  const body = WeakValues.of(given);
  const metaData = body.object('metaData');
  const algorithm = algorithmOf(metaData.text('CLIENTSIDE_HASHDIGESTALGORITHM'));
  const bytes = dataOf(body);
  const isHash = metaData.flag('USING_CLIENTSUPPLIED_HASH') ?? false;
  const digest = isHash ? hashValueOf(bytes, body, algorithm) : createHash(algorithm).update(bytes).digest();
  const isOfNothing = digest.equals(createHash(algorithm).digest());
  // SignClient sends the file name separately from the metadata.
  const fileName = metaData.text('FILENAME') ?? body.text('filename') ?? '';
  return { digest, algorithm, isOfNothing, fileName: truncate(fileName, MAX_FILE_NAME) || undefined };
}

function dataOf(body: WeakValues): Buffer {
  const data = body.text('data');
  if (data === undefined) throw refusal('/data', 'is required');
  if (data.length > MAX_DATA) throw refusal('/data', `has more than ${MAX_DATA} characters; send a hash value instead`);
  const encoding = (body.text('encoding') ?? '').toUpperCase();
  if (encoding === '' || encoding === 'NONE') return Buffer.from(data);
  if (encoding !== 'BASE64') throw refusal('/encoding', 'must be BASE64 or NONE (text)');
  const bytes = fromBase64(data);
  if (bytes === undefined)
    throw refusal('/data', 'is not base64 (RFC 4648 section 4, with padding and without line breaks)');
  return bytes;
}

/** Returns the hash value from the client. Without `encoding`, the data is not decoded, so a base64 hash value has the wrong length and is rejected. */
function hashValueOf(bytes: Buffer, body: WeakValues, algorithm: DigestAlgorithm): Buffer {
  const wanted = DIGEST_BYTES[algorithm];
  if (bytes.length === wanted) return bytes;
  const isBase64 =
    body.text('encoding')?.toUpperCase() !== 'BASE64' && fromBase64(bytes.toString('latin1'))?.length === wanted;
  const remedy = isBase64 ? '; if it is base64, set "encoding" to "BASE64"' : '';
  throw refusal('/data', `is not a ${algorithm} hash value: it has ${bytes.length} bytes, not ${wanted}${remedy}`);
}

function algorithmOf(name = 'SHA-256'): DigestAlgorithm {
  try {
    return digestAlgorithm(name);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw refusal('/metaData/CLIENTSIDE_HASHDIGESTALGORITHM', 'must be SHA-256, SHA-384 or SHA-512');
  }
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'request.invalid', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
