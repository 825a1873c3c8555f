import { createHash, type Hash } from 'node:crypto';
import { digestIn } from '../../../formats/asn1/digest-info.js';
import type { AgentKey } from '../signer/agent-keys.js';
import type { DigestName, Scheme } from '../signer/remote-signer.js';
import { CKF, CKG_MGF1, CKM, CKR } from '../../../formats/pkcs/cryptoki.js';
import { CryptokiFault, type RpcMechanism } from './rpc-message.js';

const DIGEST_LENGTHS = { sha256: 32, sha384: 48, sha512: 64 } as const satisfies Record<DigestName, number>;

/** Length in bytes of a DigestInfo that contains a SHA-512 digest. */
const MAX_DIGEST_INFO_BYTES = 83;

interface NamedDigest {
  readonly algorithm: DigestName;
  readonly digest: Buffer;
}

const ALGORITHMS = Object.keys(DIGEST_LENGTHS) as DigestName[];

interface Mechanism {
  readonly family: 'rsa' | 'ec';
  readonly scheme: Scheme;
  /** Hash that the agent computes. Undefined if the program passes a digest. */
  readonly hash?: DigestName;
}

/** Mechanisms that the service's keys support. The p11-kit client library does not forward the mechanisms for Ed25519 and ML-DSA. */
const MECHANISMS: ReadonlyMap<number, Mechanism> = new Map<number, Mechanism>([
  [CKM.RSA_PKCS, { family: 'rsa', scheme: 'rsa-pkcs1v15' }],
  [CKM.SHA256_RSA_PKCS, { family: 'rsa', scheme: 'rsa-pkcs1v15', hash: 'sha256' }],
  [CKM.SHA384_RSA_PKCS, { family: 'rsa', scheme: 'rsa-pkcs1v15', hash: 'sha384' }],
  [CKM.SHA512_RSA_PKCS, { family: 'rsa', scheme: 'rsa-pkcs1v15', hash: 'sha512' }],
  [CKM.RSA_PKCS_PSS, { family: 'rsa', scheme: 'rsa-pss' }],
  [CKM.SHA256_RSA_PKCS_PSS, { family: 'rsa', scheme: 'rsa-pss', hash: 'sha256' }],
  [CKM.SHA384_RSA_PKCS_PSS, { family: 'rsa', scheme: 'rsa-pss', hash: 'sha384' }],
  [CKM.SHA512_RSA_PKCS_PSS, { family: 'rsa', scheme: 'rsa-pss', hash: 'sha512' }],
  [CKM.ECDSA, { family: 'ec', scheme: 'ecdsa-raw' }],
  [CKM.ECDSA_SHA256, { family: 'ec', scheme: 'ecdsa-raw', hash: 'sha256' }],
  [CKM.ECDSA_SHA384, { family: 'ec', scheme: 'ecdsa-raw', hash: 'sha384' }],
  [CKM.ECDSA_SHA512, { family: 'ec', scheme: 'ecdsa-raw', hash: 'sha512' }],
]);

const HASHES = 'SHA-256, SHA-384 or SHA-512';
const NO_DIGEST = `the tool sent a digest that is not ${HASHES}: select one of these in the tool`;
const OTHER_PSS = `PSS supports only ${HASHES}, with MGF1 of the same hash and a salt as long as the hash (OpenSSL: rsa_pss_saltlen:digest)`;

function otherMechanism(type: number | undefined): string {
  if (type === CKM.RSA_X_509) return `the tool pads the digest itself; ${OTHER_PSS}`;
  return `the tool requested mechanism 0x${(type ?? 0).toString(16)}, which the keys do not support; select a mechanism with ${HASHES}`;
}

const familyOf = ({ type }: Pick<AgentKey, 'type'>): string => type.split('-')[0] ?? '';

/** Returns the numbers of the mechanisms that a key supports. */
export function mechanismsOf(key: Pick<AgentKey, 'type'>): number[] {
  return [...MECHANISMS].filter(([, { family }]) => family === familyOf(key)).map(([type]) => type);
}

interface MechanismInfo {
  readonly minBits: number;
  readonly maxBits: number;
  readonly flags: number;
}

/**
 * Returns the limits and flags of a mechanism.
 *
 * @throws CryptokiFault (CKR_MECHANISM_INVALID) if the mechanism is not offered
 */
export function mechanismInfo(type: number): MechanismInfo {
  const mechanism = MECHANISMS.get(type);
  if (mechanism === undefined) throw new CryptokiFault(CKR.MECHANISM_INVALID);
  const flags = CKF.HW | CKF.SIGN;
  if (mechanism.family === 'rsa') return { minBits: 2048, maxBits: 4096, flags };
  return { minBits: 256, maxBits: 521, flags: flags | CKF.EC_F_P | CKF.EC_NAMEDCURVE | CKF.EC_UNCOMPRESS };
}

const BYTES_OF_CURVE: Readonly<Record<string, number>> = { 'ec-p256': 32, 'ec-p384': 48, 'ec-p521': 66 };

/** Returns the length of a signature in PKCS #11 encoding: the length of the modulus, or of r ‖ s. */
function signatureLength({ type }: Pick<AgentKey, 'type'>): number {
  const curve = BYTES_OF_CURVE[type];
  return curve === undefined ? Number(type.replace('rsa-', '')) / 8 : 2 * curve;
}

/** SigningOperation collects the data to sign, in one or more parts, and returns the digest of the data. */
export class SigningOperation {
  private readonly hash: Hash | undefined;
  private data = Buffer.alloc(0);

  private constructor(
    readonly key: AgentKey,
    readonly mechanism: Mechanism,
    /** Hash algorithm specified by the PSS parameters. */
    private readonly pssHash: DigestName | undefined,
  ) {
    this.hash = mechanism.hash === undefined ? undefined : createHash(mechanism.hash);
  }

  /** @throws CryptokiFault if the key does not support the mechanism, or the service does not support the parameters */
  static begin(key: AgentKey, { type, parameters }: RpcMechanism): SigningOperation {
    const mechanism = type === undefined ? undefined : MECHANISMS.get(type);
    if (mechanism === undefined) throw new CryptokiFault(CKR.MECHANISM_INVALID, otherMechanism(type));
    if (mechanism.family !== familyOf(key)) throw new CryptokiFault(CKR.KEY_TYPE_INCONSISTENT);
    if (mechanism.scheme !== 'rsa-pss') {
      if (parameters.length > 0) throw new CryptokiFault(CKR.MECHANISM_PARAM_INVALID);
      return new SigningOperation(key, mechanism, undefined);
    }
    const hash = pssHashOf(parameters);
    if (hash === undefined || (mechanism.hash !== undefined && mechanism.hash !== hash))
      throw new CryptokiFault(CKR.MECHANISM_PARAM_INVALID, OTHER_PSS);
    return new SigningOperation(key, mechanism, hash);
  }

  get length(): number {
    return signatureLength(this.key);
  }

  update(part: Buffer): void {
    if (this.hash !== undefined) this.hash.update(part);
    else if (this.data.length + part.length > MAX_DIGEST_INFO_BYTES)
      throw new CryptokiFault(CKR.DATA_LEN_RANGE, NO_DIGEST);
    else this.data = Buffer.concat([this.data, part]);
  }

  /**
   * Returns the digest to sign.
   *
   * @throws CryptokiFault (CKR_DATA_INVALID or CKR_DATA_LEN_RANGE) if the data is not a digest in the form that the mechanism requires
   */
  digest(): NamedDigest {
    const { hash, scheme } = this.mechanism;
    if (hash !== undefined && this.hash !== undefined) return { algorithm: hash, digest: this.hash.digest() };
    if (scheme === 'rsa-pkcs1v15') return orFault(digestOfDigestInfo(this.data), CKR.DATA_INVALID);
    const bare = orFault(digestByLength(this.data), CKR.DATA_LEN_RANGE);
    if (this.pssHash !== undefined && bare.algorithm !== this.pssHash)
      throw new CryptokiFault(CKR.DATA_LEN_RANGE, NO_DIGEST);
    return bare;
  }
}

function orFault(
  found: NamedDigest | undefined,
  code: typeof CKR.DATA_INVALID | typeof CKR.DATA_LEN_RANGE,
): NamedDigest {
  if (found === undefined) throw new CryptokiFault(code, NO_DIGEST);
  return found;
}

const PSS_HASHES: readonly (readonly [number, DigestName])[] = [
  [CKM.SHA256, 'sha256'],
  [CKM.SHA384, 'sha384'],
  [CKM.SHA512, 'sha512'],
];

/** Returns the hash in CK_RSA_PKCS_PSS_PARAMS, or undefined unless the MGF and the salt length match the hash. The service supports no other combination. */
function pssHashOf(parameters: Buffer): DigestName | undefined {
  if (parameters.length !== 24) return undefined;
  const [hash, mgf, salt] = [0, 8, 16].map((at) => Number(parameters.readBigUInt64BE(at)));
  const name = PSS_HASHES.find(([type]) => type === hash)?.[1];
  if (name === undefined || mgf !== CKG_MGF1[name] || salt !== DIGEST_LENGTHS[name]) return undefined;
  return name;
}

/**
 * Returns the digest in a DigestInfo that a program passes for CKM_RSA_PKCS, or undefined unless the data is exactly one DER DigestInfo of a known hash. The
 * meaning of other data, such as the concatenated MD5 and SHA-1 hashes (36 bytes) in TLS 1.0 signatures, is unknown. Other encodings of the same digest are
 * rejected, because the service would sign the DER encoding, whereas the program expects a signature over its own encoding.
 */
function digestOfDigestInfo(data: Buffer): NamedDigest | undefined {
  for (const algorithm of ALGORITHMS) {
    const digest = digestIn(data, algorithm);
    if (digest !== undefined) return { algorithm, digest };
  }
  return undefined;
}

/** Identifies the hash of a raw digest by its length, because CKM_ECDSA does not name the hash. */
function digestByLength(data: Buffer): NamedDigest | undefined {
  const algorithm = ALGORITHMS.find((one) => DIGEST_LENGTHS[one] === data.length);
  return algorithm === undefined ? undefined : { algorithm, digest: data };
}
