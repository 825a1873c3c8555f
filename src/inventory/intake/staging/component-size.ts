import type { CdxComponent } from '../../model/document.js';

/**
 * MAX_COMPONENT_CHARACTERS is the maximum size of one component as JSON. Listing or exporting a component loads and converts the whole component in memory.
 */
export const MAX_COMPONENT_CHARACTERS = 256 * 1024;

/** Members that do not affect verdicts, least useful first. In `properties`, the properties that affect a verdict are kept. */
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

/** Removes a large public key. Its fingerprint is stored as a property. @returns the number of characters saved */
function withoutValue(component: CdxComponent): number {
  const crypto = component.cryptoProperties;
  const material = crypto?.relatedCryptoMaterialProperties;
  const value: unknown = material?.['value'];
  if (crypto === undefined || material === undefined || typeof value !== 'string') return 0;
  component.cryptoProperties = { ...crypto, relatedCryptoMaterialProperties: { ...material, value: undefined } };
  return value.length;
}

/** Prefix of the names of properties on which verdicts and identities depend. */
const NAMESPACE = 'sealwright:';

/** Returns the part of a dispensable member that is kept. */
function remainderOf({ properties }: CdxComponent, member: (typeof DISPENSABLE)[number]): CdxComponent['properties'] {
  if (member !== 'properties') return undefined;
  const read = properties?.filter(({ name }) => name.startsWith(NAMESPACE));
  return read?.length === 0 ? undefined : read;
}

/**
 * shortened returns a copy of a component without its largest dispensable members, so that the JSON does not exceed the limit. @returns undefined if the JSON
 * would still exceed the limit
 */
export function shortened(component: CdxComponent): CdxComponent | undefined {
  const sizeOf = (value: unknown) => (value === undefined ? 0 : JSON.stringify(value).length);
  const savings = DISPENSABLE.map((member) => {
    const remainder = remainderOf(component, member);
    return { member, remainder, saved: sizeOf(component[member]) - sizeOf(remainder) };
  });
  let size = sizeOf(component);
  const left: CdxComponent = { ...component };
  for (const { member, remainder, saved } of savings.sort((a, b) => b.saved - a.saved)) {
    if (size <= MAX_COMPONENT_CHARACTERS) break;
    size -= saved;
    left[member] = remainder;
  }
  if (size > MAX_COMPONENT_CHARACTERS) size -= withoutValue(left);
  return size <= MAX_COMPONENT_CHARACTERS ? left : undefined;
}
