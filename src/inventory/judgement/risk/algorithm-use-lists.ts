import { mainUse } from '../names/crypto-use.js';
import { memoize } from './memoize.js';
import type { AlgorithmUse } from '../../model/risk-subject.js';

/** MAX_INHERITED is the maximum number of algorithms that an asset inherits. A verdict names the weakest, not all of them. */
export const MAX_INHERITED = 200;
export const NONE: readonly AlgorithmUse[] = [];
const ON_CURVE = new Set(['EC', 'ECDSA', 'ECDH', 'EdDSA', 'XDH']);

/** AlgorithmUseLists derives lists from lists of ingredients, each once, so that assets that use the same algorithms share one list. */
export class AlgorithmUseLists {
  /** Returns the algorithms to which a key belongs: the cipher, signature or MAC in a name, not the hash next to it. */
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
      // Two lists with equal parts share a verdict only if the same part is the key.
      if (main !== undefined && JSON.stringify(mainUse(all)) !== JSON.stringify(main)) this.mains.set(all, main);
      return all;
    }),
  );

  /** The key algorithm of a certificate, if it is not the first of its algorithms. */
  private readonly mains = new WeakMap<readonly AlgorithmUse[], AlgorithmUse>();

  private readonly bySize = memoize<readonly AlgorithmUse[], Map<number, readonly AlgorithmUse[]>>(() => new Map());

  /** @param key one of the lists above. */
  ofCertificate(signature: readonly AlgorithmUse[], key: readonly AlgorithmUse[]): readonly AlgorithmUse[] {
    return this.bySignature(signature)(key);
  }

  /** Returns the key algorithm of a certificate by the list of all its algorithms, or undefined if the list itself determines it. */
  mainOf(all: readonly AlgorithmUse[]): AlgorithmUse | undefined {
    return this.mains.get(all);
  }

  /** @param size bits that the asset itself declares, if any. */
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

/** The key of a certificate authenticates, unless its algorithm does not support that. */
function asCertificateKey(part: AlgorithmUse): AlgorithmUse {
  return part.purpose === 'unknown' || part.purpose === 'encryption' ? { ...part, purpose: 'signature' } : part;
}

/** Only RSA both signs and encrypts with the same key. */
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
