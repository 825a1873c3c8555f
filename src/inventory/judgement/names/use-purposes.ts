import type { AlgorithmUse, AlgorithmPurpose } from '../../model/risk-subject.js';
import type { Mention } from './name-mentions.js';

/** DeclaredAlgorithm contains the facts that a component declares about an algorithm in addition to the name (CycloneDX `algorithmProperties`). */
export interface DeclaredAlgorithm {
  readonly primitive?: string;
  readonly parameterSetIdentifier?: string;
  readonly curve?: string;
  /** Curve and family, by their names in the CycloneDX 1.7 algorithm registry: `secg/secp521r1`. */
  readonly ellipticCurve?: string;
  readonly algorithmFamily?: string;
  readonly mode?: string;
  readonly padding?: string;
  readonly cryptoFunctions?: readonly string[];
}

/** MentionContext is the context in which an algorithm is mentioned. */
export interface MentionContext {
  /** All algorithms in the name. */
  readonly all: readonly Mention[];
  readonly declared: DeclaredAlgorithm;
  /** Whether the name is a cipher suite. */
  readonly isSuite: boolean;
}

/** publicKeyPurposeOf returns the purpose of a public key, or `unknown` if neither the name nor the declared facts indicate the purpose. */
export function publicKeyPurposeOf(mention: Mention, context: MentionContext): AlgorithmPurpose {
  if (mention.role === 'sign') return mention.purpose === 'key-establishment' ? 'key-establishment' : 'signature';
  if (mention.role === 'exchange') return 'key-establishment';
  if (context.isSuite) return mention.purpose ?? 'unknown';
  return purposeOfKey(mention, context);
}

/**
 * Returns the purpose of a key that can sign, encrypt and agree on keys. A hash next to the key belongs to a signature, except with OAEP and next to a cipher
 * (an IKE proposal).
 */
function purposeOfKey({ padding, purpose }: Mention, { all, declared }: MentionContext): AlgorithmPurpose {
  if (padding === 'oaep') return 'encryption';
  const says = (one: AlgorithmPurpose) => purpose === one || declared.primitive === 'signature';
  if (padding === 'pss' || says('signature')) return 'signature';
  const has = (wanted: string) => all.some(({ role }) => role === wanted);
  const signsHash = has('hash') && !has('cipher') && declared.primitive !== 'pke';
  if (signsHash && (purpose === 'encryption' || purpose === null))
    return purpose === null ? (declaredPurpose(declared) ?? 'signature') : 'signature';
  return purpose ?? declaredPurpose(declared) ?? 'unknown';
}

function declaredPurpose({ cryptoFunctions, primitive }: DeclaredAlgorithm): AlgorithmPurpose | undefined {
  const does = (...names: string[]) => names.some((one) => cryptoFunctions?.includes(one) === true);
  if (does('encrypt', 'decrypt')) return 'encryption';
  if (does('encapsulate', 'decapsulate') || primitive === 'kem' || primitive === 'key-agree')
    return 'key-establishment';
  if (primitive === 'pke') return 'encryption';
  return does('sign', 'verify') ? 'signature' : undefined;
}

/**
 * usageOf returns the scheme of which a hash or cipher is a part: a signature, a MAC or a key derivation. Returns `reduced` for a weakened variant, and null
 * for a hash or cipher that is not part of a scheme.
 */
export function usageOf(mention: Mention, context: MentionContext): AlgorithmUse['usage'] {
  const { role, isReduced } = mention;
  if (isReduced) return 'reduced';
  if (role === 'cipher') return isInsideMac(context.all) ? 'mac' : null;
  return role === 'hash' ? usageOfHash(mention, context) : null;
}

/**
 * Returns the usage of a hash. A standalone hash that is declared as a MAC or key derivation is not HMAC or HKDF, so nothing compensates for its weaknesses.
 */
function usageOfHash({ isPassword }: Mention, { all, declared: { primitive } }: MentionContext): AlgorithmUse['usage'] {
  const has = (...roles: string[]) => all.some((other) => roles.includes(other.role));
  if (has('mac')) return 'mac';
  if (has('kdf', 'random')) return 'kdf';
  if (signs(all)) return isOfOaep(all) || primitive === 'pke' ? 'kdf' : 'signature';
  if (primitive === 'signature' && !isPassword) return 'signature';
  if (has('exchange', 'key')) return 'kdf';
  if (has('cipher')) return 'mac';
  if (isPassword) return 'password';
  return primitive === 'kdf' ? 'derivation' : null;
}

function signs(all: readonly Mention[]): boolean {
  return all.some(({ role, purpose }) => role === 'sign' || (role === 'key' && purpose !== 'key-establishment'));
}

/** Reports whether a hash is used in OAEP, which does not require a collision-resistant hash. */
function isOfOaep(all: readonly Mention[]): boolean {
  return all.some(({ padding }) => padding === 'oaep');
}

/** MACs based on a cipher. */
const CIPHER_MACS = new Set(['CMAC', 'GMAC', 'XCBC', 'CBC-MAC']);

function isInsideMac(all: readonly Mention[]): boolean {
  const encrypts = all.some(({ role, mode }) => role === 'cipher' && mode !== null);
  return !encrypts && all.some(({ family }) => CIPHER_MACS.has(family));
}
