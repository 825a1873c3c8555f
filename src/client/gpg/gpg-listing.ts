import { pgpSeconds } from '../../formats/openpgp/key-packet.js';
import { type GpgKey, keyIdOf } from './gpg-keys.js';

/** Public-key algorithm ID, number of bits, and curve name as printed by gpg. */
const TYPES: Readonly<Record<string, { id: number; bits: number; curve: string }>> = {
  'rsa-2048': { id: 1, bits: 2048, curve: '' },
  'rsa-3072': { id: 1, bits: 3072, curve: '' },
  'rsa-4096': { id: 1, bits: 4096, curve: '' },
  'ec-p256': { id: 19, bits: 256, curve: 'nistp256' },
  'ec-p384': { id: 19, bits: 384, curve: 'nistp384' },
  'ec-p521': { id: 19, bits: 521, curve: 'nistp521' },
};

export function gpgAlgorithmOf({ type }: Pick<GpgKey, 'type'>): { id: number; bits: number; curve: string } {
  return TYPES[type] ?? { id: 0, bits: 0, curve: '' };
}

/** Lists a secret key in the format of `--with-colons` (GnuPG's doc/DETAILS): the key, its fingerprint, and its user IDs. */
export function colonListing(key: GpgKey, now: Date): string[] {
  const { id, bits, curve } = gpgAlgorithmOf(key);
  const validity = gpgValidityOf(key, now);
  const expires = key.expiresAt === undefined ? '' : String(pgpSeconds(key.expiresAt));
  const created = String(pgpSeconds(key.createdAt));
  const usable = validity === 'u' ? 'scSC' : 'sc';
  const sec = [
    'sec',
    validity,
    bits,
    id,
    keyIdOf(key),
    created,
    expires,
    '',
    'u',
    '',
    '',
    usable,
    '',
    '',
    '+',
    '',
    curve,
  ];
  return [
    [...sec, '', '0', ''].join(':'),
    `fpr:::::::::${key.fingerprint}:`,
    ...key.userIds.map((userId) => `uid:${validity}::::${created}::::${escaped(userId)}::::::::::0:`),
  ];
}

/** Lists a secret key in gpg's human-readable format. */
export function plainListing(key: GpgKey, now: Date): string[] {
  const { bits, curve } = gpgAlgorithmOf(key);
  const kind = curve === '' ? `rsa${bits}` : curve;
  const validity = { u: 'ultimate', e: 'expired', r: 'revoked' }[gpgValidityOf(key, now)];
  const end = key.expiresAt === undefined ? '' : ` [expires: ${day(key.expiresAt)}]`;
  return [
    `sec   ${kind} ${day(key.createdAt)} [SC]${end}`,
    `      ${key.fingerprint}`,
    ...key.userIds.map((userId) => `uid           [${validity}] ${userId}`),
    '',
  ];
}

/** Returns the validity letter: `u` (ultimate), `e` (expired) or `r` (revoked). */
export function gpgValidityOf({ revoked, expiresAt }: GpgKey, now: Date): 'u' | 'e' | 'r' {
  if (revoked) return 'r';
  return expiresAt !== undefined && expiresAt <= now ? 'e' : 'u';
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10);
}

/** Escapes colons and backslashes, because listing fields are C strings separated by colons. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\x5c').replaceAll(':', '\\x3a');
}
