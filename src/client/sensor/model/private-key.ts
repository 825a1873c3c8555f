import type { SensorFinding, FindingPlace } from './finding.js';
import { refOf } from './finding.js';
import type { Algorithm } from './finding.js';
import type { SensedKeyFacts } from './key-algorithm.js';

/** Protection describes how a private key is protected: by a named encryption scheme, or not at all (undefined). */
export interface Protection {
  readonly scheme: string | undefined;
}

/**
 * Returns the finding for a private key: its algorithm, its public key if the public key is not encrypted, and its protection. The finding never contains the
 * private key itself.
 */
export function privateKeyHere(
  facts: Partial<SensedKeyFacts>,
  { scheme }: Protection,
  place: FindingPlace,
  name?: string,
): SensorFinding {
  const { fingerprint, algorithm, bits } = facts;
  const secured: Algorithm | undefined = scheme === undefined ? undefined : { name: scheme, properties: {} };
  const own = fingerprint === undefined ? [] : [{ name: 'sealwright:public-key-sha256', value: fingerprint }];
  const withheld = scheme === undefined ? [{ name: 'sealwright:withheld', value: 'file' }] : [];
  return {
    place,
    component: {
      type: 'cryptographic-asset',
      name: name ?? (fingerprint === undefined ? 'private key' : `private key ${fingerprint.slice(0, 16)}`),
      'bom-ref': `private key ${fingerprint ?? `${place.location} ${place.line ?? ''} ${place.symbol ?? ''}`}`,
      cryptoProperties: {
        assetType: 'related-crypto-material',
        relatedCryptoMaterialProperties: {
          type: 'private-key',
          ...(fingerprint === undefined ? {} : { id: fingerprint }),
          ...(bits === undefined ? {} : { size: bits }),
          ...(algorithm === undefined ? {} : { algorithmRef: refOf(algorithm) }),
          ...(secured === undefined ? {} : { securedBy: { mechanism: 'Software', algorithmRef: refOf(secured) } }),
        },
      },
      properties: [...own, ...withheld],
    },
    uses: [algorithm, secured].filter((one) => one !== undefined),
  };
}
