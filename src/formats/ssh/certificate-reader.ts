import { certifiedKeyTypeOf, isSshCertificateType } from './certificate-type.js';
import { oneKeyLine } from './key-line.js';
import { fromBase64 } from '../encoding/base64.js';
import { sshFingerprintOf, readBlob, type SshPublicKey } from './public-key.js';
import { isSignedBy } from './ssh-signature.js';
import { WireReader, wireString } from './wire.js';

/** SshCertificateContent is an OpenSSH certificate (PROTOCOL.certkeys) whose signature was verified with the authority key it contains. */
export interface SshCertificateContent {
  readonly kind: 'user' | 'host';
  /** The certified key. */
  readonly key: SshPublicKey;
  readonly serial: bigint;
  readonly keyId: string;
  readonly principals: readonly string[];
  readonly validAfter: Date;
  readonly validBefore: Date;
  readonly criticalOptions: readonly string[];
  /** Names of extensions, such as `permit-pty`. */
  readonly extensions: readonly string[];
  /** Fingerprint of the authority's key: `SHA256:…`. */
  readonly authority: string;
  readonly blob: Buffer;
}

/** Number of strings in the certified public key, by plain key type. */
const PARTS = new Map([
  ['ssh-ed25519', 1],
  ['ssh-rsa', 2],
  ['ecdsa-sha2-nistp256', 2],
  ['ecdsa-sha2-nistp384', 2],
  ['ecdsa-sha2-nistp521', 2],
]);
const MAX_BYTES = 32 * 1024;
/** Latest time that a Date can represent, in seconds. Used as the expiration time of a certificate that does not expire. */
const LAST_SECOND = 8_640_000_000_000n;

/** Parses `ssh-ed25519-cert-v01@openssh.com AAAA… comment`. Undefined for any other text, more than one line, or an invalid signature. */
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
  // SHA-1 signatures are not accepted, and an authority must not be a certificate itself (PROTOCOL.certkeys).
  const algorithm = new WireReader(signature).text();
  const isGood = reader.done && algorithm !== 'ssh-rsa' && isSignedBy(signer, signature, signed);
  if (key === undefined || kind === undefined || !isGood) return undefined;
  const authority = sshFingerprintOf(signer);
  const content = { kind, key, serial, keyId, principals, validAfter, validBefore, criticalOptions, extensions };
  return { ...content, authority, blob };
}

/** Returns the length of the next string, which must be the last string in the blob. */
function lastLength(blob: Buffer, reader: WireReader): number {
  return blob.length - 4 - reader.position;
}

function textsOf(list: Buffer): string[] {
  const reader = new WireReader(list);
  const texts: string[] = [];
  while (!reader.done) texts.push(reader.text());
  return texts;
}

/** Returns the names from a list in which names and data alternate. */
function namesOf(list: Buffer): string[] {
  return textsOf(list).filter((_, index) => index % 2 === 0);
}

function timeOf(seconds: bigint): Date {
  return new Date(Number(seconds < LAST_SECOND ? seconds : LAST_SECOND) * 1000);
}
