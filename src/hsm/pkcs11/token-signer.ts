import { randomBytes } from 'node:crypto';
import { CKG_MGF1, CKM, CKO } from '../../formats/pkcs/cryptoki.js';
import { signEcdsa } from './ec-signer.js';
import { type CurveType, isCurve, rawToDer } from '../signatures/ecdsa.js';
import { type KeyDirectory, publicKeyInfoOf, labelsOf } from './key-directory.js';
import { KeyProcessFault } from './key-process-fault.js';
import { type TokenKey, DIGEST_BYTES, type DigestAlgorithm, type SignOrder, type VaultKey } from '../key-vault.js';
import { type Mechanism, type Pkcs11Token, pssMechanism } from './pkcs11-token.js';
import { RsaCheck } from '../signatures/rsa-check.js';
import { digestInfo } from '../../formats/asn1/digest-info.js';
import { encodePss } from '../signatures/rsa-encodings.js';
import type { PooledSession, SessionPool } from './session-pool.js';

const RSA_PKCS: Mechanism = { mechanism: CKM.RSA_PKCS };
const RSA_RAW: Mechanism = { mechanism: CKM.RSA_X_509 };
const PSS: Record<DigestAlgorithm, Mechanism> = {
  sha256: pssOf('sha256', CKM.SHA256),
  sha384: pssOf('sha384', CKM.SHA384),
  sha512: pssOf('sha512', CKM.SHA512),
  'sha3-256': pssOf('sha3-256', CKM.SHA3_256),
  'sha3-384': pssOf('sha3-384', CKM.SHA3_384),
  'sha3-512': pssOf('sha3-512', CKM.SHA3_512),
};

/** A sign order that identifies the key by its CKA_ID and CKA_LABEL. */
export interface TokenSignOrder extends Omit<SignOrder, 'key' | 'message'> {
  readonly key: TokenKey & Pick<VaultKey, 'type' | 'publicKey'>;
}

export interface SigningParts {
  readonly token: Pkcs11Token;
  readonly pool: SessionPool;
  readonly directory: KeyDirectory;
  /** Maximum time for which an order may use its session. */
  readonly limitMs: number;
}

/** TokenSigner signs digests. A signature is returned only after it has been verified with the stored public key. */
export class TokenSigner {
  private readonly parts: SigningParts;
  private readonly rsa = new RsaCheck();
  /**
   * False for a token whose CKM_RSA_PKCS_PSS does not support SHA-3. The padding is then computed in software, and the token performs the raw RSA operation.
   */
  private readonly tokenPadsSha3: boolean;

  constructor(parts: SigningParts) {
    this.parts = parts;
    this.tokenPadsSha3 = padsSha3(parts.token);
  }

  /** Signs the digest of an order. Throws KeyProcessFault, or an error from the HSM library. */
  async sign({ key, scheme, algorithm, digest }: SignOrder): Promise<Buffer> {
    const { ckaId, type, publicKey } = key;
    return await this.signWith({
      key: { ckaId, labels: labelsOf(key.identity), type, publicKey },
      scheme,
      algorithm,
      digest,
    });
  }

  /** Like `sign`, for keys that sign orders cannot specify, such as the audit log's key. */
  async signWith(order: TokenSignOrder): Promise<Buffer> {
    return await this.parts.directory.withFreshHandles(order.key, () => this.signOnce(order));
  }

  private signOnce(order: TokenSignOrder): Promise<Buffer> {
    return this.parts.pool.use(this.parts.limitMs, (session) =>
      isCurve(order.key.type) ? this.signEc(session, order, order.key.type) : this.signRsa(session, order),
    );
  }

  private async signEc(session: PooledSession, order: TokenSignOrder, curve: CurveType): Promise<Buffer> {
    const { publicKey } = order.key;
    const handle = this.parts.directory.privateKey(order.key);
    const raw = await signEcdsa(this.parts.token, session, { handle, publicKey, curve, digest: order.digest });
    if (raw === undefined) throw this.wrongSignature(order);
    return order.scheme === 'ecdsa-der' ? rawToDer(raw) : Buffer.from(raw);
  }

  private async signRsa(session: PooledSession, order: TokenSignOrder): Promise<Buffer> {
    const { algorithm, digest, key, scheme } = order;
    const { mechanism, data } = this.rsaInput(order);
    const handle = this.parts.directory.privateKey(key);
    const signature = await this.parts.token.sign(session.handle, mechanism, handle, data, session.signatureBuffer);
    const right = this.rsa[scheme === 'rsa-pss' ? 'pss' : 'pkcs1'](key.publicKey, algorithm, digest, signature);
    if (!right) throw this.wrongSignature(order);
    return Buffer.from(signature);
  }

  private rsaInput({ algorithm, digest, key, scheme }: TokenSignOrder): { mechanism: Mechanism; data: Buffer } {
    if (scheme !== 'rsa-pss') return { mechanism: RSA_PKCS, data: digestInfo(algorithm, digest) };
    if (this.tokenPadsSha3 || !algorithm.startsWith('sha3-')) return { mechanism: PSS[algorithm], data: digest };
    const salt = randomBytes(DIGEST_BYTES[algorithm]);
    return { mechanism: RSA_RAW, data: encodePss(algorithm, digest, salt, this.rsa.modulusBits(key.publicKey)) };
  }

  /**
   * Returns the fault for an invalid signature. If the stored public key differs from the token's public key, the HSM is not at fault, and replacing the
   * process would only disrupt the use of other keys.
   */
  private wrongSignature(order: TokenSignOrder): KeyProcessFault {
    const { directory } = this.parts;
    const [inToken] = directory.all(CKO.PUBLIC_KEY, order.key);
    const stored = order.key.publicKey;
    const foreign = inToken !== undefined && !publicKeyInfoOf(directory, inToken, order.key.type).equals(stored);
    return foreign
      ? new KeyProcessFault('wrong-signature', 'the stored public key does not match the key in the token')
      : new KeyProcessFault('wrong-signature', 'a signature did not verify with the stored public key', true);
  }
}

/**
 * Reports whether the token can pad SHA-3 digests for RSASSA-PSS. PKCS #11 v3.0 tokens that list a SHA-3 PSS mechanism also accept SHA-3 in the parameters of
 * CKM_RSA_PKCS_PSS.
 */
export function padsSha3(token: Pkcs11Token): boolean {
  return token.mechanisms().has(CKM.SHA3_256_RSA_PKCS_PSS);
}

/** Returns the RSASSA-PSS mechanism with MGF1 over the same digest and a salt as long as the digest. */
function pssOf(algorithm: DigestAlgorithm, hashAlg: number): Mechanism {
  return pssMechanism(hashAlg, CKG_MGF1[algorithm], DIGEST_BYTES[algorithm]);
}
