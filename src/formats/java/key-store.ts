import { createHash } from 'node:crypto';
import { DataInput } from './data-input.js';
import { type JavaValue, readJavaObject } from './object-stream.js';

const JKS = 0xfeedfeed;
const JCEKS = 0xcececece;
const DIGEST_BYTES = 20;
/** String that the digest of Sun's key store formats covers between the password and the data. */
const WHITENER = Buffer.from('Mighty Aphrodite');
const MAX_ENTRIES = 100_000;
const SECRET_KEY = 3;

export interface JavaKeyStoreEntry {
  readonly alias: string;
  /** A private key with its chain, a trusted certificate, or a secret key. */
  readonly kind: 'private-key' | 'certificate' | 'secret-key';
  /** DER, starting with the entry's own certificate. */
  readonly certificates: readonly Buffer[];
  /** A `javax.crypto.SealedObject`, present for a secret key. */
  readonly sealed?: JavaValue;
}

export interface JavaKeyStore {
  readonly type: 'JKS' | 'JCEKS';
  readonly entries: JavaKeyStoreEntry[];
  /** Number of entries that could not be read: the first entry whose end cannot be determined, and all later entries. */
  readonly unread: number;
  /** Offset of the digest over the entries. Some tools write zeros after the digest. */
  readonly end: number;
}

export function isJavaKeyStore(bytes: Buffer): boolean {
  return bytes.length >= 12 && [JKS, JCEKS].includes(bytes.readUInt32BE(0));
}

/** Reports whether the password matches the store. The certificates can be read without a password. */
export function isPasswordOf(bytes: Buffer, end: number, password: string): boolean {
  const data = bytes.subarray(0, end);
  const digest = createHash('sha1')
    .update(Buffer.from(password, 'utf16le').swap16())
    .update(WHITENER)
    .update(data)
    .digest();
  return digest.equals(bytes.subarray(end, end + DIGEST_BYTES));
}

/**
 * Reads a JKS or JCEKS keystore: names, certificates, and the presence of keys, whose bytes are skipped. Secret keys stay sealed.
 *
 * @throws RangeError if the store is truncated
 */
export function readJavaKeyStore(bytes: Buffer): JavaKeyStore {
  const body = bytes.subarray(0, -DIGEST_BYTES);
  const fields = new DataInput(body);
  const type = fields.number() === JKS ? 'JKS' : 'JCEKS';
  const version = fields.number();
  const count = fields.number();
  if (version < 1 || version > 2 || count > MAX_ENTRIES) throw new RangeError('not a Java key store');
  const certificate = () => {
    if (version === 2) fields.text();
    return fields.block();
  };
  const entries: JavaKeyStoreEntry[] = [];
  const damagedAt = (index: number) =>
    ({ type, entries, unread: count - index, end: bytes.length - DIGEST_BYTES }) as const;
  for (let index = 0; index < count; index += 1) {
    const tag = fields.number();
    if (tag < 1 || tag > SECRET_KEY) return damagedAt(index);
    const alias = fields.text();
    fields.skip(8);
    if (tag === 2) {
      entries.push({ alias, kind: 'certificate', certificates: [certificate()] });
      continue;
    }
    if (tag === SECRET_KEY) {
      const sealed = sealedObject(body, fields);
      if (sealed === undefined) return damagedAt(index);
      entries.push({ alias, kind: 'secret-key', certificates: [], sealed });
      continue;
    }
    fields.block();
    const length = Math.min(fields.number(), MAX_ENTRIES);
    entries.push({ alias, kind: 'private-key', certificates: Array.from({ length }, certificate) });
  }
  return { type, entries, unread: 0, end: fields.position };
}

/** Reads a serialized object. Undefined if its end cannot be determined. */
function sealedObject(bytes: Buffer, fields: DataInput): JavaValue | undefined {
  try {
    const { value, end } = readJavaObject(bytes, fields.position);
    fields.skip(end - fields.position);
    return value;
  } catch {
    return undefined;
  }
}
