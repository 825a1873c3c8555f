import { wireMpint, wireString } from '../../../formats/ssh/wire.js';
import type { AgentKey } from '../signer/agent-keys.js';
import type { DigestName, Scheme } from '../signer/remote-signer.js';

/** A signature algorithm of SSH with what the service calls it. */
interface SshAlgorithm {
  readonly name: string;
  readonly hash: DigestName;
  readonly scheme: Scheme;
}

/** Flags of a sign request (draft-miller-ssh-agent section 7.3). */
const RSA_SHA2_256 = 2;
const RSA_SHA2_512 = 4;

const BY_FLAG: Readonly<Record<number, SshAlgorithm>> = {
  [RSA_SHA2_256]: { name: 'rsa-sha2-256', hash: 'sha256', scheme: 'rsa-pkcs1v15' },
  [RSA_SHA2_512]: { name: 'rsa-sha2-512', hash: 'sha512', scheme: 'rsa-pkcs1v15' },
};
/** RFC 5656 section 6.2.1. */
const BY_TYPE: Readonly<Record<string, SshAlgorithm>> = {
  'ec-p256': { name: 'ecdsa-sha2-nistp256', hash: 'sha256', scheme: 'ecdsa-raw' },
  'ec-p384': { name: 'ecdsa-sha2-nistp384', hash: 'sha384', scheme: 'ecdsa-raw' },
  'ec-p521': { name: 'ecdsa-sha2-nistp521', hash: 'sha512', scheme: 'ecdsa-raw' },
};

/** The algorithm for a key and the flags of a request; undefined for RSA with SHA-1, which no flag asks for, and for unknown flags. */
export function sshAlgorithm({ type }: AgentKey, flags: number): SshAlgorithm | undefined {
  if (type.startsWith('rsa')) return BY_FLAG[flags];
  return flags === 0 ? BY_TYPE[type] : undefined;
}

/** The signature blob (RFC 8332 section 3, RFC 5656 section 3.1.2). */
export function sshSignature({ name, scheme }: SshAlgorithm, signature: Buffer): Buffer {
  if (scheme === 'rsa-pkcs1v15') return Buffer.concat([wireString(name), wireString(signature)]);
  const half = signature.length / 2;
  const numbers = [signature.subarray(0, half), signature.subarray(half)].map(wireMpint);
  return Buffer.concat([wireString(name), wireString(Buffer.concat(numbers))]);
}
