import {
  DIGEST_BYTES,
  type DigestAlgorithm,
  type KeyType,
  type SignatureScheme,
  isMlDsa,
} from '../../hsm/key-vault.js';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { Problem } from '../../platform/errors/problem.js';
import type { SignatureFormat } from '../formats/signature-format.js';

/** What a caller asks for. */
export interface SigningOrder {
  /** Base64 of the hash value; may be absent where `content` holds it. */
  readonly digest?: string;
  readonly algorithm: string;
  readonly key?: string;
  readonly scheme?: SignatureScheme;
  readonly format: SignatureFormat;
  /** Base64 of what `osslsigncode extract-data` wrote; `authenticode` only. */
  readonly content?: string;
  /** A timestamp over the signature is wanted. */
  readonly timestamp: boolean;
  readonly metadata: Record<string, unknown>;
  readonly reference: string | null;
  readonly background: boolean;
  readonly idempotencyKey?: string;
  /** Its place in a batch. */
  readonly batch?: { readonly id: string; readonly index: number };
}

/** Spellings that clients use for the same digest: `sha256`, `SHA-256`, `sha2-256`; `sha3-256`, `SHA3-256`. */
export function digestAlgorithm(given: string): DigestAlgorithm {
  const plain = given.toLowerCase().replace(/^sha2?-(?=\d{3}$)/, 'sha');
  const known = (Object.keys(DIGEST_BYTES) as DigestAlgorithm[]).find((name) => name === plain);
  if (known !== undefined) return known;
  throw invalid('/algorithm', 'algorithm.unsupported', `must be one of ${Object.keys(DIGEST_BYTES).join(', ')}`);
}

const HEX_ONLY = /^(?:[0-9a-f]+|[0-9A-F]+)$/;

/** Decodes a digest and checks that it has the length that its algorithm gives. */
export function digestBytes(base64: string, algorithm: DigestAlgorithm): Buffer {
  if (HEX_ONLY.test(base64) && base64.length >= 32) {
    throw invalid('/digest', 'digest.hex', 'looks like hexadecimal; send base64 of the binary hash value');
  }
  const bytes = base64 === '' ? undefined : fromBase64(base64);
  if (bytes === undefined) {
    throw invalid(
      '/digest',
      'digest.not-base64',
      'must be base64 (RFC 4648 section 4, with padding) of the binary hash value',
    );
  }
  const wanted = DIGEST_BYTES[algorithm];
  if (bytes.length === wanted) return bytes;
  throw invalid('/digest', 'digest.length', `a ${algorithm} digest has ${wanted} bytes, this one has ${bytes.length}`);
}

const SCHEMES_OF = {
  rsa: ['rsa-pkcs1v15', 'rsa-pss'],
  ec: ['ecdsa-der', 'ecdsa-raw'],
  ml: ['ml-dsa'],
} as const satisfies Record<string, readonly SignatureScheme[]>;

/** The scheme asked for, or what most verifiers expect of that type of key: PKCS #1 v1.5 and DER. */
export function schemeFor(type: KeyType, asked: SignatureScheme | undefined): SignatureScheme {
  const fitting: readonly SignatureScheme[] = SCHEMES_OF[isMlDsa(type) ? 'ml' : type.startsWith('rsa') ? 'rsa' : 'ec'];
  const scheme = asked ?? fitting[0];
  if (scheme !== undefined && fitting.includes(scheme)) return scheme;
  throw invalid('/scheme', 'scheme.wrong-key', `a key of type ${type} signs with ${fitting.join(' or ')}`);
}

function invalid(pointer: string, code: string, detail: string): Problem {
  return new Problem('malformed', code, `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
