import { createPublicKey, verify } from 'node:crypto';
import { p256, p384, p521 } from '@noble/curves/nist.js';
import { digestContext } from '../formats/pkcs/digest-context.js';
import { type CurveType, derToRaw, isCurve, leftmostBits } from './signatures/ecdsa.js';
import { type DigestAlgorithm, isMlDsa, type SignatureScheme, type VaultKey } from './key-vault.js';
import { CpuShare } from '../platform/work/cpu-share.js';
import { RsaCheck } from './signatures/rsa-check.js';
import { ecPointOf } from './signatures/spki.js';

const CURVES = { 'ec-p256': p256, 'ec-p384': p384, 'ec-p521': p521 } as const;
/** DER header of an OCTET STRING that contains a point: the tag, and the length in one or two octets. */
const SHORT_HEADER = 2;
const LONG_HEADER = 3;

export interface DigestSignature {
  readonly scheme: SignatureScheme;
  readonly algorithm: DigestAlgorithm;
  readonly digest: Buffer;
  /** ML-DSA only: the bytes that were signed instead of the digest. */
  readonly message?: Buffer;
  readonly signature: Buffer;
}

/**
 * PublicVerifier verifies signatures with the public key, without the HSM and the key process. node:crypto cannot verify ECDSA over a raw digest, and
 * verification in JavaScript blocks the event loop for up to 40 ms. All verifications together therefore get at most half of the event loop's time, and
 * callers are served in turn.
 */
export class PublicVerifier {
  private readonly rsa = new RsaCheck();
  private readonly share = new CpuShare();

  verifies(caller: string, key: Pick<VaultKey, 'type' | 'publicKey'>, signed: DigestSignature): Promise<boolean> {
    return this.share.run(caller, () => this.verifiesNow(key, signed));
  }

  private verifiesNow({ type, publicKey }: Pick<VaultKey, 'type' | 'publicKey'>, signed: DigestSignature): boolean {
    const { scheme, algorithm, digest, signature } = signed;
    try {
      if (isMlDsa(type)) return scheme === 'ml-dsa' && mlDsa(publicKey, signed);
      if (isCurve(type)) return scheme.startsWith('ecdsa-') && ecdsa(type, publicKey, signed);
      if (scheme === 'rsa-pss') return this.rsa.pss(publicKey, algorithm, digest, signature);
      return scheme === 'rsa-pkcs1v15' && this.rsa.pkcs1(publicKey, algorithm, digest, signature);
    } catch (error) {
      // A signature that cannot be parsed for this key type is invalid.
      if (error instanceof RangeError) return false;
      throw error;
    }
  }
}

function ecdsa(curve: CurveType, publicKey: Buffer, { scheme, digest, signature }: DigestSignature): boolean {
  const raw = scheme === 'ecdsa-der' ? derToRaw(signature, curve) : signature;
  if (raw.length !== CURVES[curve].lengths.signature) return false;
  const octets = ecPointOf(curve, publicKey);
  const point = octets.subarray((octets[1] ?? 0) < 0x80 ? SHORT_HEADER : LONG_HEADER);
  return CURVES[curve].verify(raw, leftmostBits(digest, curve), point, { prehash: false, lowS: false });
}

/**
 * Verifies an ML-DSA signature (FIPS 204 section 5.3). Structures are signed with an empty context. Earlier versions of the service also signed digests with
 * an empty context.
 */
function mlDsa(publicKey: Buffer, { algorithm, digest, message, signature }: DigestSignature): boolean {
  const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
  const context = digestContext(algorithm);
  if (message === undefined && verify(null, digest, { key, context }, signature)) return true;
  return verify(null, message ?? digest, key, signature);
}
