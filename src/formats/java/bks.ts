import { createHmac } from 'node:crypto';
import { integer, octetString, oid, sequence } from '../asn1/der-writer.js';
import { type DerivationBudget, passwordEncryption, pkcs12Key } from '../pkcs/password-encryption.js';
import { DataInput } from './data-input.js';

const MAC_BYTES = 20;
const SALT_BYTES = 20;
const MAC_KEY = 3;
const PBE_TRIPLE_DES = '1.2.840.113549.1.12.1.3';
const SEAL = 'PBEWithSHA1AndDESede';
/** What follows the certificates of an entry. */
const TAGS = { end: 0, certificate: 1, key: 2, secret: 3, sealed: 4 } as const;

export interface BksEntry {
  readonly alias: string;
  readonly kind: 'private-key' | 'certificate' | 'secret-key';
  /** DER, the entry's own certificate first. */
  readonly certificates: readonly Buffer[];
  /** The scheme that protects a key; undefined for one in the clear. */
  readonly securedBy: string | undefined;
  /** Algorithm, by the name that JCA gives it, and length of a secret key that could be opened. */
  readonly secret: BksSecret | undefined;
}

export interface BksSecret {
  readonly algorithm: string;
  readonly octets: number;
}

/** The MAC of a store is not that of this password, or the store was changed. */
export class WrongPassword extends Error {}

/** True for a store of Bouncy Castle of type BKS, or of type UBER, which begins alike. */
export function isBks(bytes: Buffer): boolean {
  if (bytes.length < 12 + SALT_BYTES + MAC_BYTES) return false;
  const version = bytes.readUInt32BE(0);
  return (version === 1 || version === 2) && bytes.readUInt32BE(4) === SALT_BYTES;
}

/**
 * Reads a BKS store: names and certificates, and the algorithms of secret keys if there is a password. Of private keys only the chain is read.
 *
 * @param password empty for none: what the store says is then not verified
 * @throws WrongPassword, DerivationTooCostly; RangeError for a store that is encrypted as a whole (UBER) or damaged.
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
  // The first version made its key of 20 bits where it meant octets.
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
  /** No certificate stands beside it: it is a secret key. */
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
  if (tag !== TAGS.sealed && tag !== TAGS.secret) throw new RangeError('an entry of an unknown kind');
  const sealed = fields.block();
  const secret = isAlone && tag === TAGS.sealed && password !== '' ? opened(sealed, password, budget) : undefined;
  return { kind, securedBy: SEAL, secret };
}

/** Algorithm and length of a sealed secret key; undefined for one that stays closed. */
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

/** A key as it was encoded: whether it is private, public or secret, its format, its algorithm and its octets. */
function encodedKey(fields: DataInput): BksSecret {
  fields.octet();
  fields.text();
  return { algorithm: fields.text(), octets: fields.block().length };
}
