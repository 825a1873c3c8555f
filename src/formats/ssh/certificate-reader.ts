import { certifiedKeyTypeOf, isSshCertificateType } from './certificate-type.js';
import { oneKeyLine } from './key-line.js';
import { fromBase64 } from '../encoding/base64.js';
import { sshFingerprintOf, readBlob, type SshPublicKey } from './public-key.js';
import { isSignedBy } from './ssh-signature.js';
import { WireReader, wireString } from './wire.js';

/** A certificate of OpenSSH (PROTOCOL.certkeys), whose signature was verified with the key that it names as its authority. */
export interface SshCertificateContent {
  readonly kind: 'user' | 'host';
  /** The key that is certified. */
  readonly key: SshPublicKey;
  readonly serial: bigint;
  readonly keyId: string;
  readonly principals: readonly string[];
  readonly validAfter: Date;
  readonly validBefore: Date;
  readonly criticalOptions: readonly string[];
  /** Names, such as `permit-pty`. */
  readonly extensions: readonly string[];
  /** `SHA256:…` of the authority's key. */
  readonly authority: string;
  readonly blob: Buffer;
}

/** Strings of the key itself, by its plain type. */
const PARTS = new Map([
  ['ssh-ed25519', 1],
  ['ssh-rsa', 2],
  ['ecdsa-sha2-nistp256', 2],
  ['ecdsa-sha2-nistp384', 2],
  ['ecdsa-sha2-nistp521', 2],
]);
const MAX_BYTES = 32 * 1024;
/** Dates have an end; a certificate without one ends there. */
const LAST_SECOND = 8_640_000_000_000n;

/** `ssh-ed25519-cert-v01@openssh.com AAAA… comment`. Undefined when it is none, more than one line, or its signature is not good. */
export function readCertificateLine(text: string): SshCertificateContent | undefined {
  const [type = '', base64 = ''] = (oneKeyLine(text) ?? '').split(/[ \t]+/);
  const blob = isSshCertificateType(type) ? fromBase64(base64) : undefined;
  return blob && readSshCertificate(blob);
}

export function readSshCertificate(blob: Buffer): SshCertificateContent | undefined {
  if (blob.length > MAX_BYTES) return undefined;
  try {
    return read(blob);
  } catch {
    return undefined;
  }
}

function read(blob: Buffer): SshCertificateContent | undefined {
  const reader = new WireReader(blob);
  const type = reader.text();
  const plain = certifiedKeyTypeOf(type);
  const parts = plain === undefined ? undefined : PARTS.get(plain);
  if (plain === undefined || parts === undefined) return undefined;
  reader.string(); // nonce
  const own = Array.from({ length: parts }, () => wireString(reader.string()));
  const key = readBlob(plain, Buffer.concat([wireString(plain), ...own]).toString('base64'));
  const serial = reader.uint64();
  const kind = ({ 1: 'user', 2: 'host' } as const)[reader.uint32()];
  const keyId = reader.text();
  const principals = textsOf(reader.string());
  const [validAfter, validBefore] = [timeOf(reader.uint64()), timeOf(reader.uint64())];
  const criticalOptions = namesOf(reader.string());
  const extensions = namesOf(reader.string());
  reader.string(); // reserved
  const signer = reader.string();
  const signed = blob.subarray(0, blob.length - 4 - lastLength(blob, reader));
  const signature = reader.string();
  // SHA-1 is no signature any more, and an authority that is itself certified is none (PROTOCOL.certkeys).
  const algorithm = new WireReader(signature).text();
  const isGood = reader.done && algorithm !== 'ssh-rsa' && isSignedBy(signer, signature, signed);
  if (key === undefined || kind === undefined || !isGood) return undefined;
  const authority = sshFingerprintOf(signer);
  const content = { kind, key, serial, keyId, principals, validAfter, validBefore, criticalOptions, extensions };
  return { ...content, authority, blob };
}

/** Length of the string that comes next, which is the last one. */
function lastLength(blob: Buffer, reader: WireReader): number {
  return blob.length - 4 - reader.position;
}

function textsOf(list: Buffer): string[] {
  const reader = new WireReader(list);
  const texts: string[] = [];
  while (!reader.done) texts.push(reader.text());
  return texts;
}

/** Names of a list of names and their data. */
function namesOf(list: Buffer): string[] {
  return textsOf(list).filter((_, index) => index % 2 === 0);
}

function timeOf(seconds: bigint): Date {
  return new Date(Number(seconds < LAST_SECOND ? seconds : LAST_SECOND) * 1000);
}
