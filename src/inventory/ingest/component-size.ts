import type { CdxComponent } from '../model/document.js';

/**
 * MAX_COMPONENT_CHARACTERS is the maximum size of the JSON of one component. Every caller who lists or exports a larger component would have it read, converted
 * and exported in one piece.
 */
export const MAX_COMPONENT_CHARACTERS = 256 * 1024;

/** Members that a component can lose, the least useful first. Apart from `properties`, no verdict reads them. */
const DISPENSABLE = [
  'signature',
  'modelCard',
  'data',
  'releaseNotes',
  'pedigree',
  'swid',
  'licenses',
  'externalReferences',
  'description',
  'copyright',
  'tags',
  'properties',
] as const;

/** Removes a large public key, whose fingerprint is a property. @returns the number of characters saved */
function withoutValue(component: CdxComponent): number {
  const crypto = component.cryptoProperties;
  const material = crypto?.relatedCryptoMaterialProperties;
  const value: unknown = material?.['value'];
  if (crypto === undefined || material === undefined || typeof value !== 'string') return 0;
  component.cryptoProperties = { ...crypto, relatedCryptoMaterialProperties: { ...material, value: undefined } };
  return value.length;
}

/** shortened returns a copy of a component without its largest dispensable members, so that its JSON fits. @returns undefined if that is not enough */
export function shortened(component: CdxComponent): CdxComponent | undefined {
  const sizeOf = (value: unknown) => (value === undefined ? 0 : JSON.stringify(value).length);
  let size = sizeOf(component);
  const left: CdxComponent = { ...component };
  const bySize = DISPENSABLE.toSorted((a, b) => sizeOf(component[b]) - sizeOf(component[a]));
  for (const member of bySize) {
    if (size <= MAX_COMPONENT_CHARACTERS) break;
    size -= sizeOf(left[member]);
    left[member] = undefined;
  }
  if (size > MAX_COMPONENT_CHARACTERS) size -= withoutValue(left);
  return size <= MAX_COMPONENT_CHARACTERS ? left : undefined;
}
