import { hash } from 'node:crypto';
import type { AssetKind } from '../../model/asset-kind.js';
import { PUBLIC_KEY_PROPERTY, WITHHELD_PROPERTY, propertyOf } from '../../model/asset-identity.js';
import { CERTIFICATE_PROPERTY, certificateSha256, statedSha256 } from '../../model/certificate-identity.js';
import type { CdxComponent, DraftAsset, DraftLink, DraftOccurrence } from '../../model/document.js';
import { blankSecrets, isPublicMaterial, publicKeyFingerprint, withoutSecretMembers } from '../../model/secrets.js';
import { truncate } from '../../../platform/text/truncate.js';

const MAX_TEXT = 4000;

interface Property {
  readonly name: string;
  readonly value: string;
}

/**
 * assetOf converts a component to an asset, with its locations and links but without secrets. The component is modified in place, so the caller must not use
 * the component afterwards. Removed members are set to undefined, which all readers treat as missing, because `delete` makes V8 objects slow.
 */
export function assetOf(component: CdxComponent, ref: string): DraftAsset {
  const occurrences = occurrencesOf(component['evidence']);
  removeMember(component, 'bom-ref');
  removeMember(component, 'evidence');
  removeMember(component, 'components');
  removeMember(component, 'signature');
  for (const member of WITH_REFS) removeRefs(component[member]);
  const found: Property[] = [];
  const isHeldBack = holdBackValue(component, found);
  if (blankSecrets(component) > 0 && !isHeldBack) found.push({ name: WITHHELD_PROPERTY, value: 'text' });
  fingerprintOf(component, found);
  if (found.length > 0) addProperties(component, found);
  return { ref, kind: assetKindOf(component), component, occurrences, links: linksOf(component) };
}

/** Members of a component that may contain further bom-refs. Bom-refs are valid only within one document, and exports assign new bom-refs. */
const WITH_REFS = ['licenses', 'modelCard', 'data', 'pedigree'] as const;

/** Removes bom-refs and signatures at any depth. A signature would not match the remaining content. */
function removeRefs(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) {
    removeMember(value as Record<string, unknown>, 'bom-ref');
    removeMember(value as Record<string, unknown>, 'signature');
  }
  for (const member of Object.values(value)) removeRefs(member);
}

function removeMember(members: Record<string, unknown>, name: string): void {
  if (members[name] !== undefined) members[name] = undefined;
}

export function assetKindOf(component: CdxComponent): AssetKind {
  const type = component.cryptoProperties?.assetType;
  if (type === 'algorithm' || type === 'certificate' || type === 'protocol' || type === 'related-crypto-material')
    return type;
  // A cryptographic asset without cryptoProperties is valid. Only its name is known, as for many algorithms.
  return component.type === 'cryptographic-asset' ? 'algorithm' : 'component';
}

/** Withholds the value of secret material. @returns true if a value was withheld */
function holdBackValue({ cryptoProperties }: CdxComponent, found: Property[]): boolean {
  const material = cryptoProperties?.relatedCryptoMaterialProperties;
  const value = material?.['value'];
  if (cryptoProperties === undefined || material === undefined || typeof value !== 'string') return false;
  const isPublicKey = material['type'] === 'public-key';
  const fingerprint = publicKeyFingerprint(value) ?? (isPublicKey ? hash('sha256', value, 'hex') : undefined);
  if (fingerprint !== undefined) found.push({ name: PUBLIC_KEY_PROPERTY, value: fingerprint });
  if (isPublicMaterial(material['type']) && withoutSecretMembers(value) === value) return false;
  found.push({ name: WITHHELD_PROPERTY, value: 'value' });
  removeMember(material, 'value');
  cryptoProperties.assetType = 'related-crypto-material';
  return true;
}

/** Adds the certificate fingerprint as a property, in the format of CycloneDX 1.7, because 1.6 has no member for the fingerprint. */
function fingerprintOf(component: CdxComponent, found: Property[]): void {
  if (component.cryptoProperties?.certificateProperties === undefined) return;
  const stated = statedSha256(component);
  if (stated !== undefined && certificateSha256(component) === undefined)
    found.push({ name: CERTIFICATE_PROPERTY, value: stated });
}

/** Adds the properties that the component does not have yet. */
function addProperties(component: CdxComponent, found: readonly Property[]): void {
  const added = found.filter(({ name }) => propertyOf(component, name) === undefined);
  if (added.length > 0) component.properties = [...(component.properties ?? []), ...added];
}

export function occurrencesOf(evidence: unknown): DraftOccurrence[] {
  const list = (evidence as { occurrences?: unknown } | undefined)?.occurrences;
  if (!Array.isArray(list)) return [];
  return list.map((given: Record<string, unknown>) => ({
    location: textOf(given['location']) ?? '',
    line: numberOf(given['line']),
    position: numberOf(given['offset']),
    symbol: textOf(given['symbol']),
    context: textOf(given['additionalContext']),
  }));
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? truncate(withoutSecretMembers(value), MAX_TEXT) : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : null;
}

interface Refs {
  readonly certificateProperties?: { signatureAlgorithmRef?: string; subjectPublicKeyRef?: string };
  readonly relatedCryptoMaterialProperties?: { algorithmRef?: string; securedBy?: { algorithmRef?: string } };
  readonly protocolProperties?: {
    cipherSuites?: { algorithms?: string[] }[];
    cryptoRefArray?: string[];
    ikev2TransformTypes?: Record<string, unknown>;
  };
}

/** linksOf returns the references in `cryptoProperties`. */
export function linksOf({ cryptoProperties }: CdxComponent): DraftLink[] {
  const links: DraftLink[] = [];
  const {
    certificateProperties,
    relatedCryptoMaterialProperties: material,
    protocolProperties: protocol,
  }: Refs = cryptoProperties ?? NO_REFS;
  if (certificateProperties !== undefined) {
    addLink(links, certificateProperties.signatureAlgorithmRef, 'signatureAlgorithm');
    addLink(links, certificateProperties.subjectPublicKeyRef, 'subjectPublicKey');
  }
  if (material !== undefined) {
    addLink(links, material.algorithmRef, 'algorithm');
    addLink(links, material.securedBy?.algorithmRef, 'securedBy');
  }
  if (protocol !== undefined) for (const { to, kind } of protocolLinks(protocol)) addLink(links, to, kind);
  return links;
}

const NO_REFS: Refs = {};

function addLink(links: DraftLink[], to: unknown, kind: DraftLink['kind']): void {
  if (typeof to === 'string' && to !== '') links.push({ to, kind });
}

function* protocolLinks(protocol: NonNullable<Refs['protocolProperties']>): Generator<DraftLink> {
  for (const suite of protocol.cipherSuites ?? [])
    for (const to of suite.algorithms ?? []) yield { kind: 'cipherSuite', to };
  for (const to of protocol.cryptoRefArray ?? []) yield { kind: 'cryptoRef', to };
  for (const refs of Object.values(protocol.ikev2TransformTypes ?? {}))
    for (const to of Array.isArray(refs) ? (refs as string[]) : []) yield { kind: 'cryptoRef', to };
}

/**
 * isReference reports whether a string in `cryptoProperties` refers to another component.
 *
 * @param member name of the member that contains the string, or the list with the string
 * @param within name of the enclosing member
 */
export function isReference(member: string, within: string): boolean {
  return (
    member.endsWith('Ref') || member === 'algorithms' || member === 'cryptoRefArray' || within === 'ikev2TransformTypes'
  );
}
