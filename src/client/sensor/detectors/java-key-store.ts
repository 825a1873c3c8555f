import { X509Certificate } from 'node:crypto';
import type { SensorFinding } from '../model/finding.js';
import { sensedFactsOf, type SensedKeyFacts } from '../model/key-algorithm.js';
import { privateKeyHere } from '../model/private-key.js';
import type { Detector } from './detector.js';

const TYPES: Readonly<Record<number, string>> = { 0xfeedfeed: 'JKS', 0xcececece: 'JCEKS' };
const MAX_ENTRIES = 10_000;
const DIGEST_BYTES = 20;

/** A keystore of type JKS or JCEKS. Its certificates are in the open; the bytes of its private keys are stepped over. */
export const javaKeyStore: Detector = ({ location, bytes }) => {
  const type = bytes.length < 32 ? undefined : TYPES[bytes.readUInt32BE(0)];
  if (type === undefined) return [];
  try {
    return [...entries(new Fields(bytes.subarray(4, -DIGEST_BYTES)), type, location)];
  } catch {
    return [];
  }
};

function* entries(fields: Fields, type: string, location: string): Generator<SensorFinding> {
  const version = fields.number();
  const count = fields.number();
  if (version < 1 || version > 2 || count > MAX_ENTRIES) return;
  const certificate = () => {
    if (version === 2) fields.skip(fields.short());
    return fields.take(fields.number());
  };
  for (let entry = 0; entry < count; entry += 1) {
    const tag = fields.number();
    if (tag !== 1 && tag !== 2) return; // A secret key is a serialized object of unknown length.
    const alias = fields.take(fields.short()).toString('utf8');
    const place = { location, symbol: alias };
    fields.skip(8);
    if (tag === 1) fields.skip(fields.number());
    const chain = Array.from({ length: tag === 1 ? Math.min(fields.number(), MAX_ENTRIES) : 1 }, certificate);
    for (const der of chain) yield { place, certificate: der.toString('base64') };
    if (tag === 1) yield privateKeyHere(keyOf(chain[0]), { scheme: type }, place, alias);
  }
}

function keyOf(der: Buffer | undefined): Partial<SensedKeyFacts> {
  return der === undefined ? {} : sensedFactsOf(new X509Certificate(der).publicKey);
}

/** java.io.DataInput. */
class Fields {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  number(): number {
    this.at += 4;
    return this.bytes.readUInt32BE(this.at - 4);
  }

  short(): number {
    this.at += 2;
    return this.bytes.readUInt16BE(this.at - 2);
  }

  skip(count: number): void {
    this.at += count;
    if (this.at > this.bytes.length) throw new RangeError('a key store is cut short');
  }

  take(count: number): Buffer {
    this.skip(count);
    return this.bytes.subarray(this.at - count, this.at);
  }
}
