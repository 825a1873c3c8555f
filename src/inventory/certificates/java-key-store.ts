import { createHash } from 'node:crypto';

const JKS = 0xfeedfeed;
const JCEKS = 0xcececece;
const DIGEST_BYTES = 20;
/** Sun's format is signed with this word between the password and the data. */
const WHITENER = Buffer.from('Mighty Aphrodite');
const MOST_ENTRIES = 100_000;

export interface JavaKeyStoreEntry {
  readonly alias: string;
  /** true: a private key with its chain; false: a trusted certificate. */
  readonly isKey: boolean;
  /** DER, the entry's own certificate first. */
  readonly certificates: readonly Buffer[];
}

export interface JavaKeyStore {
  readonly type: 'JKS' | 'JCEKS';
  readonly entries: JavaKeyStoreEntry[];
  /** Entries from the first secret key on: what follows a serialized Java object cannot be found. */
  readonly unread: number;
}

export function isJavaKeyStore(bytes: Buffer): boolean {
  return bytes.length >= 12 && [JKS, JCEKS].includes(bytes.readUInt32BE(0));
}

/** False when the password is not that of the store; its certificates can be read without. */
export function isPasswordOf(bytes: Buffer, password: string): boolean {
  const data = bytes.subarray(0, -DIGEST_BYTES);
  const digest = createHash('sha1')
    .update(Buffer.from(password, 'utf16le').swap16())
    .update(WHITENER)
    .update(data)
    .digest();
  return digest.equals(bytes.subarray(-DIGEST_BYTES));
}

/**
 * Reads a keystore of type JKS or JCEKS: names, certificates, and that there are keys, whose bytes are skipped.
 *
 * @throws RangeError when it is cut short.
 */
export function readJavaKeyStore(bytes: Buffer): JavaKeyStore {
  const fields = new Fields(bytes.subarray(0, -DIGEST_BYTES));
  const type = fields.number() === JKS ? 'JKS' : 'JCEKS';
  const version = fields.number();
  const count = fields.number();
  if (version < 1 || version > 2 || count > MOST_ENTRIES) throw new RangeError('not a Java key store');
  const certificate = () => {
    if (version === 2) fields.text();
    return fields.block();
  };
  const entries: JavaKeyStoreEntry[] = [];
  for (let index = 0; index < count; index += 1) {
    const tag = fields.number();
    if (tag !== 1 && tag !== 2) return { type, entries, unread: count - index };
    const alias = fields.text();
    fields.skip(8);
    if (tag === 2) {
      entries.push({ alias, isKey: false, certificates: [certificate()] });
      continue;
    }
    fields.block();
    const length = Math.min(fields.number(), MOST_ENTRIES);
    entries.push({ alias, isKey: true, certificates: Array.from({ length }, certificate) });
  }
  return { type, entries, unread: 0 };
}

/** java.io.DataInput. */
class Fields {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  number(): number {
    const value = this.bytes.readUInt32BE(this.at);
    this.at += 4;
    return value;
  }

  text(): string {
    const length = this.bytes.readUInt16BE(this.at);
    this.at += 2;
    return this.take(length).toString('utf8').replaceAll('\u0000', '');
  }

  block(): Buffer {
    return this.take(this.number());
  }

  skip(count: number): void {
    this.take(count);
  }

  private take(count: number): Buffer {
    const end = this.at + count;
    if (end > this.bytes.length) throw new RangeError('a key store is cut short');
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }
}
