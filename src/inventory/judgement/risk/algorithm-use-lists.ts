import { mainUse } from '../names/crypto-use.js';
import { memoize } from './memoize.js';
import type { AlgorithmUse } from '../../model/risk-subject.js';

/** MAX_INHERITED is the maximum number of algorithms that an asset inherits. A verdict names only the weakest algorithms. */
export const MAX_INHERITED = 200;
export const NONE: readonly AlgorithmUse[] = [];
const ON_CURVE = new Set(['EC', 'ECDSA', 'ECDH', 'EdDSA', 'XDH']);

/** AlgorithmUseLists derives lists of ingredients from other lists. Each derivation is cached, so that assets that use the same algorithms share one list. */
export class AlgorithmUseLists {
  /** Returns the algorithms that use the key: the cipher, signature or MAC in a name, but not an accompanying hash. */
  readonly ofKey = memoize((named: readonly AlgorithmUse[]): readonly AlgorithmUse[] => {
    const keyed = named.filter(({ usage }) => usage === null);
    return keyed.length > 0 ? keyed : named;
  });

  readonly ofCertificateKey = memoize((key: readonly AlgorithmUse[]) => key.map(asCertificateKey));

  readonly ofEncipheringKey = memoize((key: readonly AlgorithmUse[]) => key.map(asEncipheringKey));

  private readonly bySignature = memoize((signature: readonly AlgorithmUse[]) =>
    memoize((ofKey: readonly AlgorithmUse[]) => {
      const all = distinct([...signature.map(asSignature), ...ofKey]);
      const main = mainUse(ofKey);
      // Certificates with the same algorithms share a verdict only if their keys have the same algorithm.
      if (main !== undefined && JSON.stringify(mainUse(all)) !== JSON.stringify(main)) this.mains.set(all, main);
      return all;
    }),
  );

  /** Algorithm of a certificate's key, if `mainUse` returns a different algorithm for the list of all the certificate's algorithms. */
  private readonly mains = new WeakMap<readonly AlgorithmUse[], AlgorithmUse>();

  private readonly bySize = memoize<readonly AlgorithmUse[], Map<number, readonly AlgorithmUse[]>>(() => new Map());

  /** @param key list returned by `ofCertificateKey` or `ofEncipheringKey` */
  ofCertificate(signature: readonly AlgorithmUse[], key: readonly AlgorithmUse[]): readonly AlgorithmUse[] {
    return this.bySignature(signature)(key);
  }

  /** Returns the algorithm of a certificate's key, given the list of all the certificate's algorithms. Undefined if `mainUse` returns the same algorithm. */
  mainOf(all: readonly AlgorithmUse[]): AlgorithmUse | undefined {
    return this.mains.get(all);
  }

  /** @param size size in bits that the asset itself declares, if any */
  sized(parts: readonly AlgorithmUse[], size: unknown): readonly AlgorithmUse[] {
    if (typeof size !== 'number' || size <= 0) return parts;
    const known = this.bySize(parts);
    let made = known.get(size);
    if (made === undefined) {
      made = parts.map((part) => withSize(part, size));
      known.set(size, made);
    }
    return made;
  }
}

function asSignature(part: AlgorithmUse): AlgorithmUse {
  return part.purpose === 'unknown' && part.usage === null ? { ...part, purpose: 'signature', usage: null } : part;
}

/** Returns the algorithm of a certificate's key with its purpose. The key is used for authentication, unless its algorithm cannot sign. */
function asCertificateKey(part: AlgorithmUse): AlgorithmUse {
  return part.purpose === 'unknown' || part.purpose === 'encryption' ? { ...part, purpose: 'signature' } : part;
}

/** Returns the algorithm of a key whose key usage allows encipherment. Only an RSA key can both sign and encrypt. */
function asEncipheringKey(part: AlgorithmUse): AlgorithmUse {
  return part.family === 'RSA' ? { ...part, purpose: 'key-establishment' } : asCertificateKey(part);
}

function withSize(part: AlgorithmUse, size: number): AlgorithmUse {
  if (ON_CURVE.has(part.family)) return part.curveBits === null ? { ...part, curveBits: size } : part;
  return part.bits === null && ['RSA', 'DSA', 'DH', 'AES'].includes(part.family) ? { ...part, bits: size } : part;
}

export function distinct(parts: readonly AlgorithmUse[]): readonly AlgorithmUse[] {
  if (parts.length < 2) return parts;
  return [...new Map(parts.map((part) => [JSON.stringify(part), part])).values()]
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    .slice(0, MAX_INHERITED);
}
