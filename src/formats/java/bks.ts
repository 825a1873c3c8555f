import { createHmac } from 'node:crypto';
import { integer, octetString, oid, sequence } from '../asn1/der-writer.js';
import { type DerivationBudget, passwordEncryption, pkcs12Key } from '../pkcs/password-encryption.js';
import { DataInput } from './data-input.js';

const MAC_BYTES = 20;
const SALT_BYTES = 20;
const MAC_KEY = 3;
const PBE_TRIPLE_DES = '1.2.840.113549.1.12.1.3';
const SEAL = 'PBEWithSHA1AndDESede';
/** Entry tags. The tag determines which data follows the certificates. */
const TAGS = { end: 0, certificate: 1, key: 2, secret: 3, sealed: 4 } as const;

export interface BksEntry {
  readonly alias: string;
  readonly kind: 'private-key' | 'certificate' | 'secret-key';
  /** DER, starting with the entry's own certificate. */
  readonly certificates: readonly Buffer[];
  /** Scheme that protects a key. Undefined for an unencrypted key. */
  readonly securedBy: string | undefined;
  /** Algorithm (JCA name) and length of a secret key that could be decrypted. */
  readonly secret: BksSecret | undefined;
}

export interface BksSecret {
  readonly algorithm: string;
  readonly octets: number;
}

/** WrongPassword means that the MAC of a store does not match the password, or that the store was modified. */
export class WrongPassword extends Error {}

/** Reports whether the bytes are a Bouncy Castle store of type BKS, or of type UBER, which starts the same way. */
export function isBks(bytes: Buffer): boolean {
  if (bytes.length < 12 + SALT_BYTES + MAC_BYTES) return false;
  const version = bytes.readUInt32BE(0);
  return (version === 1 || version === 2) && bytes.readUInt32BE(4) === SALT_BYTES;
}

/**
 * Reads a BKS store: names, certificates and, given a password, the algorithms of secret keys. For private keys, only the chain is read.
 *
 * @param password password of the store; if empty, the integrity of the store is not verified
 * @throws WrongPassword, DerivationTooCostly; RangeError if the store is entirely encrypted (UBER) or damaged
 */
export function readBks(bytes: Buffer, password: string, budget: DerivationBudget): BksEntry[] {
  const fields = new DataInput(bytes.subarray(0, -MAC_BYTES));
  const version = fields.number();
  const [salt, rounds] = [fields.block(), fields.number()];
  const start = fields.position;
  const entries: BksEntry[] = [];
  for (let tag = fields.octet(); tag !== TAGS.end; tag = fields.octet()) {
    const alias = fields.text();
    fields.skip(8);
    const certificates = Array.from({ length: Math.min(fields.number(), bytes.length) }, () => certificateIn(fields));
    if (tag === TAGS.certificate) certificates.push(certificateIn(fields));
    const opening = { password, budget, isAlone: certificates.length === 0 };
    entries.push({ alias, certificates, ...contentOf(tag, fields, opening) });
  }
  // Version 1 used a MAC key of 20 bits instead of 20 octets, so its MAC is not verified.
  if (password !== '' && version === 2) {
    budget.spend(rounds);
    const key = pkcs12Key(password, salt, rounds, { purpose: MAC_KEY, length: MAC_BYTES });
    const mac = createHmac('sha1', key).update(bytes.subarray(start, fields.position)).digest();
    if (!mac.equals(bytes.subarray(fields.position, fields.position + MAC_BYTES))) throw new WrongPassword();
  }
  return entries;
}

function certificateIn(fields: DataInput): Buffer {
  fields.text();
  return fields.block();
}

interface Opening {
  readonly password: string;
  readonly budget: DerivationBudget;
  /** Whether the entry has no certificate and is therefore a secret key. */
  readonly isAlone: boolean;
}

function contentOf(
  tag: number,
  fields: DataInput,
  { password, budget, isAlone }: Opening,
): Pick<BksEntry, 'kind' | 'securedBy' | 'secret'> {
  const kind = isAlone ? 'secret-key' : 'private-key';
  if (tag === TAGS.certificate) return { kind: 'certificate', securedBy: '', secret: undefined };
  if (tag === TAGS.key) return { kind, securedBy: undefined, secret: encodedKey(fields) };
  if (tag !== TAGS.sealed && tag !== TAGS.secret) throw new RangeError('the type of an entry is unknown');
  const sealed = fields.block();
  const secret = isAlone && tag === TAGS.sealed && password !== '' ? opened(sealed, password, budget) : undefined;
  return { kind, securedBy: SEAL, secret };
}

/** Returns the algorithm and length of a sealed secret key. Undefined if the key cannot be decrypted. */
function opened(sealed: Buffer, password: string, budget: DerivationBudget): BksSecret | undefined {
  let clear: Buffer | undefined;
  try {
    const fields = new DataInput(sealed);
    const [salt, rounds] = [fields.block(), fields.number()];
    const scheme = sequence(oid(PBE_TRIPLE_DES), sequence(octetString(salt), integer(rounds)));
    const { decrypt } = passwordEncryption(scheme, () => undefined);
    clear = decrypt?.(sealed.subarray(fields.position), password, budget);
    return clear === undefined ? undefined : encodedKey(new DataInput(clear));
  } catch {
    return undefined;
  } finally {
    clear?.fill(0);
  }
}

/** Reads an encoded key: its kind (private, public or secret), format, algorithm and octets. */
function encodedKey(fields: DataInput): BksSecret {
  fields.octet();
  fields.text();
  return { algorithm: fields.text(), octets: fields.block().length };
}
