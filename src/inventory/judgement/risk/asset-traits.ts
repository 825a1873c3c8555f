import { propertyOf, WITHHELD_PROPERTY } from '../../model/asset-identity.js';
import type { CdxComponent } from '../../model/document.js';
import type { AssetKind } from '../../model/asset-kind.js';
import { memberTextOf } from '../../model/json.js';
import { type CertificateTraits, certificateTraits } from './certificate-traits.js';
import { type DeclaredName, declaredOf } from './named-algorithms.js';
import { type DeclaredProtocol, declaredProtocol } from './protocol-facts.js';

/**
 * Traits are the facts that affect an asset's verdict, except for its name and edges. Assets with equal facts share one object, so that a hundred thousand keys
 * require little memory.
 */
export interface Traits {
  readonly declared: DeclaredName;
  /** Declared size of the key in bits. */
  readonly size: unknown;
  readonly material: MaterialTraits | undefined;
  readonly certificate: CertificateTraits | undefined;
  readonly protocol: DeclaredProtocol | undefined;
}

export interface MaterialTraits {
  /** Names of the conditions that the material meets, as used in rules. */
  readonly conditions: readonly string[];
  /** False for a salt or an initialization vector, which is neither strong nor weak, regardless of the algorithm. */
  readonly isKey: boolean;
}

/** Types of material that are used as keys with an algorithm. */
const KEYS = new Set(['private-key', 'public-key', 'secret-key', 'key', 'shared-secret', 'other', 'unknown']);

/** Cache of traits by JSON. The cache size is limited, because documents can contain any facts. */
const KNOWN = new Map<string, Traits>();
const MAX_KNOWN = 4096;
const MAX_KNOWN_LENGTH = 300;

export function traitsOf(kind: AssetKind, component: CdxComponent): Traits {
  const facts = component.cryptoProperties?.relatedCryptoMaterialProperties;
  const traits: Traits = {
    declared: declaredOf(component),
    size: facts?.['size'],
    material: kind === 'related-crypto-material' ? materialTraits(component) : undefined,
    certificate: kind === 'certificate' ? certificateTraits(component) : undefined,
    protocol: kind === 'protocol' ? declaredProtocol(component) : undefined,
  };
  const key = keyOf(traits);
  const known = KNOWN.get(key);
  if (known !== undefined) return known;
  if (KNOWN.size === MAX_KNOWN) KNOWN.clear();
  if (key.length < MAX_KNOWN_LENGTH) KNOWN.set(key, traits);
  return traits;
}

/** Returns the cache key. For most keys and certificates, which declare no facts about algorithms, the cache key is short. */
function keyOf({ declared, size, material, certificate, protocol }: Traits): string {
  const isSimple = size === undefined || typeof size === 'number';
  if (declared.text !== undefined || protocol !== undefined || !isSimple)
    return JSON.stringify([declared, size, material, certificate, protocol]);
  const ofMaterial = material === undefined ? '' : `${material.isKey} ${material.conditions.join()}`;
  return `${size ?? ''} ${ofMaterial} ${certificate?.text ?? ''}`;
}

function materialTraits(component: CdxComponent): MaterialTraits {
  const facts = component.cryptoProperties?.relatedCryptoMaterialProperties;
  const type = memberTextOf(facts?.['type']) || 'unknown';
  const conditions: string[] = [];
  if (facts?.['state'] === 'compromised') conditions.push('compromised');
  const withheld = propertyOf(component, WITHHELD_PROPERTY);
  if (withheld === 'value') conditions.push('secret-value-in-document');
  const found = withheld === 'value' || withheld === 'file';
  if (found && (type === 'private-key' || type === 'secret-key')) conditions.push('key-bytes-found');
  return { conditions, isKey: KEYS.has(type) };
}
