import { createPublicKey } from 'node:crypto';
import type { SshPublicKey } from '../../formats/ssh/public-key.js';
import type { DigestAlgorithm, KeyType, SignatureScheme } from '../../hsm/key-vault.js';
import { WireReader, wireString, wireUint32, wireUint64 } from '../../formats/ssh/wire.js';

export const CERTIFICATE_KINDS = ['user', 'host'] as const;
export type CertificateKind = (typeof CERTIFICATE_KINDS)[number];

/** CertificateContent is the content of a certificate (OpenSSH's PROTOCOL.certkeys). */
export interface CertificateContent {
  readonly kind: CertificateKind;
  /** Public key to certify. */
  readonly key: SshPublicKey;
  /** Serial number, unique per authority. Revocation lists contain serial numbers. */
  readonly serial: bigint;
  /** Key ID, which sshd logs at each login with the certificate. */
  readonly keyId: string;
  /** Login names or host names. An empty list would match every name and is rejected. */
  readonly principals: readonly string[];
  readonly validAfter: Date;
  readonly validBefore: Date;
  /** User certificates only: addresses from which the certificate is valid, as in `from=`. */
  readonly sourceAddress?: string;
  /** User certificates only: command to which the certificate is restricted (force-command). */
  readonly forceCommand?: string;
  /** User certificates only: extensions, for example `permit-pty`. */
  readonly extensions: readonly string[];
}

const KINDS: Record<CertificateKind, number> = { user: 1, host: 2 };
const CERTIFICATE_TYPES = new Map([
  ['ssh-ed25519', 'ssh-ed25519-cert-v01@openssh.com'],
  ['ssh-rsa', 'ssh-rsa-cert-v01@openssh.com'],
  ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp256-cert-v01@openssh.com'],
  ['ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp384-cert-v01@openssh.com'],
  ['ecdsa-sha2-nistp521', 'ecdsa-sha2-nistp521-cert-v01@openssh.com'],
  // Keys in security tokens (PROTOCOL.u2f).
  ['sk-ssh-ed25519@openssh.com', 'sk-ssh-ed25519-cert-v01@openssh.com'],
  ['sk-ecdsa-sha2-nistp256@openssh.com', 'sk-ecdsa-sha2-nistp256-cert-v01@openssh.com'],
]);

/** Returns the certificate type for a key type, or undefined if keys of this type cannot be certified. */
export function certificateTypeOf(type: string): string | undefined {
  return CERTIFICATE_TYPES.get(type);
}

/**
 * Returns the bytes that the authority signs.
 *
 * @param nonce 32 random bytes
 */
export function toBeSigned(content: CertificateContent, nonce: Buffer, authority: SshPublicKey): Buffer {
  const { kind, key, serial, keyId, principals, validAfter, validBefore, extensions } = content;
  const type = CERTIFICATE_TYPES.get(key.type);
  if (type === undefined || principals.length === 0) throw new Error('unsupported key type, or no principals');
  const isUser = kind === 'user';
  return Buffer.concat([
    wireString(type),
    wireString(nonce),
    partsOf(key),
    wireUint64(serial),
    wireUint32(KINDS[kind]),
    wireString(keyId),
    wireString(Buffer.concat(principals.map((principal) => wireString(principal)))),
    wireUint64(secondsOf(validAfter)),
    wireUint64(secondsOf(validBefore)),
    wireString(isUser ? criticalOptions(content) : ''),
    wireString(isUser ? Buffer.concat([...extensions].sort().map((name) => named(name, Buffer.alloc(0)))) : ''),
    wireString(''),
    wireString(authority.blob),
  ]);
}

/**
 * Returns the certificate as in a `-cert.pub` file.
 *
 * @param signature signature in the encoding of `sshSignature`
 */
export function certificateLine(content: CertificateContent, signed: Buffer, signature: Buffer): string {
  const blob = Buffer.concat([signed, wireString(signature)]);
  return `${CERTIFICATE_TYPES.get(content.key.type)} ${blob.toString('base64')} ${content.keyId.replaceAll(/[^\x21-\x7e]/g, '_')}`;
}

/** Returns a public key without its type name. A certificate contains these fields. */
function partsOf({ type, blob }: SshPublicKey): Buffer {
  new WireReader(blob).string();
  return blob.subarray(wireString(type).length);
}

function criticalOptions({ forceCommand, sourceAddress }: CertificateContent): Buffer {
  return Buffer.concat([
    ...(forceCommand === undefined ? [] : [named('force-command', wireString(forceCommand))]),
    ...(sourceAddress === undefined ? [] : [named('source-address', wireString(sourceAddress))]),
  ]);
}

function named(name: string, data: Buffer): Buffer {
  return Buffer.concat([wireString(name), wireString(data)]);
}

function secondsOf(date: Date): bigint {
  return BigInt(Math.floor(date.getTime() / 1000));
}

/** AUTHORITY_KEY_TYPES are the supported types of authority keys. */
export const AUTHORITY_KEY_TYPES = ['ec-p256', 'ec-p384', 'rsa-3072', 'rsa-4096'] as const satisfies KeyType[];
export type AuthorityKeyType = (typeof AUTHORITY_KEY_TYPES)[number];

/** AuthoritySigning defines how an authority's key signs certificates: the parameters for the HSM, and the SSH algorithm name. */
interface AuthoritySigning {
  readonly type: AuthorityKeyType;
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  /** SSH algorithm name (RFC 5656 section 3.1.1, RFC 8332 section 3). */
  readonly name: string;
}

/** sshd does not accept SHA-1 signatures from authorities, so RSA keys sign with rsa-sha2-512. */
const RSA = { scheme: 'rsa-pkcs1v15', algorithm: 'sha512', name: 'rsa-sha2-512' } as const;
const HOW: Readonly<Record<AuthorityKeyType, Omit<AuthoritySigning, 'type'>>> = {
  'ec-p256': { scheme: 'ecdsa-raw', algorithm: 'sha256', name: 'ecdsa-sha2-nistp256' },
  'ec-p384': { scheme: 'ecdsa-raw', algorithm: 'sha384', name: 'ecdsa-sha2-nistp384' },
  'rsa-3072': RSA,
  'rsa-4096': RSA,
};
const CURVES: Readonly<Record<string, AuthorityKeyType>> = { prime256v1: 'ec-p256', secp384r1: 'ec-p384' };

/**
 * Returns the signing parameters of an authority's key.
 *
 * @param spki SubjectPublicKeyInfo in DER
 */
export function signingOf(spki: Buffer): AuthoritySigning {
  const { asymmetricKeyDetails } = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const { namedCurve = '', modulusLength = 0 } = asymmetricKeyDetails ?? {};
  const type = CURVES[namedCurve] ?? AUTHORITY_KEY_TYPES.find((one) => one === `rsa-${modulusLength}`);
  if (type === undefined) throw new Error('no authority supports this key type');
  return { type, ...HOW[type] };
}
