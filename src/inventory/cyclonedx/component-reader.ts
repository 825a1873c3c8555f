import { createHash } from 'node:crypto';
import { withChanged } from '../../platform/json/changed-copy.js';
import type { AssetKind } from '../assets/asset-kind.js';
import { CERTIFICATE_PROPERTY, PUBLIC_KEY_PROPERTY, WITHHELD_PROPERTY, propertyOf } from '../ingest/asset-identity.js';
import type { CdxComponent, DraftAsset, DraftLink, DraftOccurrence } from '../ingest/draft.js';
import { cleanSecrets, isPublicMaterial, publicKeyFingerprint, withoutSecrets } from '../ingest/secrets.js';

const MOST_TEXT = 4000;

/** A component of a document as an asset: places apart, secrets out. */
export function assetOf(given: CdxComponent, ref: string): DraftAsset {
  const { 'bom-ref': _ref, evidence, components: _nested, ...rest } = given;
  const found: Record<string, string> = {};
  const held = holdBackValue(rest, found);
  const { value: component, withheld } = cleanSecrets(held);
  if (withheld > 0) found[WITHHELD_PROPERTY] ??= 'text';
  fingerprintOf(component, found);
  return {
    ref,
    kind: kindOf(component),
    component: withProperties(component, found),
    occurrences: occurrencesOf(evidence),
  };
}

export function kindOf(component: CdxComponent): AssetKind {
  const type = component.cryptoProperties?.assetType;
  if (type === 'algorithm' || type === 'certificate' || type === 'protocol' || type === 'related-crypto-material')
    return type;
  // A cryptographic asset without cryptoProperties is legal; its name is all there is, as for an algorithm.
  return component.type === 'cryptographic-asset' ? 'algorithm' : 'component';
}

/** The value of secret material never gets any further than here. */
function holdBackValue(component: CdxComponent, found: Record<string, string>): CdxComponent {
  const material = component.cryptoProperties?.relatedCryptoMaterialProperties;
  const value = material?.['value'];
  if (material === undefined || typeof value !== 'string') return component;
  const fingerprint = publicKeyFingerprint(value);
  if (fingerprint !== undefined) found[PUBLIC_KEY_PROPERTY] = fingerprint;
  else if (material['type'] === 'public-key') found[PUBLIC_KEY_PROPERTY] = sha256(value);
  if (isPublicMaterial(material['type']) && withoutSecrets(value) === value) return component;
  found[WITHHELD_PROPERTY] = 'value';
  const { value: _value, ...rest } = material;
  const cryptoProperties = { ...component.cryptoProperties, assetType: 'related-crypto-material' };
  return { ...component, cryptoProperties: { ...cryptoProperties, relatedCryptoMaterialProperties: rest } };
}

/** 1.7 states the fingerprint of a certificate; 1.6 has no place for it but a property. */
function fingerprintOf(component: CdxComponent, found: Record<string, string>): void {
  const facts = component.cryptoProperties?.certificateProperties;
  const fingerprint = facts?.['fingerprint'] as { alg?: string; content?: string } | undefined;
  if (fingerprint?.alg === 'SHA-256' && typeof fingerprint.content === 'string')
    found[CERTIFICATE_PROPERTY] = fingerprint.content.toLowerCase();
}

function withProperties(component: CdxComponent, found: Record<string, string>): CdxComponent {
  const added = Object.entries(found).filter(([name]) => propertyOf(component, name) === undefined);
  if (added.length === 0) return component;
  const properties = [...(component.properties ?? []), ...added.map(([name, value]) => ({ name, value }))];
  return { ...component, properties };
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
  return typeof value === 'string' ? withoutSecrets(value).slice(0, MOST_TEXT).toWellFormed() : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : null;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
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

/** The references inside `cryptoProperties`. */
export function linksOf({ ref: from, component }: DraftAsset): DraftLink[] {
  const {
    certificateProperties,
    relatedCryptoMaterialProperties: material,
    protocolProperties: protocol,
  } = (component.cryptoProperties ?? {}) as Refs;
  const links: DraftLink[] = [];
  const add = (kind: DraftLink['kind'], to: unknown) => {
    if (typeof to === 'string' && to !== '') links.push({ from, to, kind });
  };
  add('signatureAlgorithm', certificateProperties?.signatureAlgorithmRef);
  add('subjectPublicKey', certificateProperties?.subjectPublicKeyRef);
  add('algorithm', material?.algorithmRef);
  add('securedBy', material?.securedBy?.algorithmRef);
  if (protocol !== undefined) for (const { kind, to } of protocolLinks(protocol)) add(kind, to);
  return links;
}

function* protocolLinks(protocol: NonNullable<Refs['protocolProperties']>): Generator<Omit<DraftLink, 'from'>> {
  for (const suite of protocol.cipherSuites ?? [])
    for (const to of suite.algorithms ?? []) yield { kind: 'cipherSuite', to };
  for (const to of protocol.cryptoRefArray ?? []) yield { kind: 'cryptoRef', to };
  for (const refs of Object.values(protocol.ikev2TransformTypes ?? {}))
    for (const to of Array.isArray(refs) ? (refs as string[]) : []) yield { kind: 'cryptoRef', to };
}

/** The component with every reference replaced; a reference that leads nowhere stays as it is. */
export function withReferences(component: CdxComponent, idOf: (ref: string) => string | undefined): CdxComponent {
  const crypto = component.cryptoProperties as (Refs & object) | undefined;
  if (crypto === undefined) return component;
  const swap = (at: unknown, name: string): unknown => {
    if (typeof at === 'string') return isReference(name) ? (idOf(at) ?? at) : at;
    if (typeof at !== 'object' || at === null) return at;
    if (Array.isArray(at)) return withChanged(at, (item) => swap(item, name));
    const inTransforms = name === 'ikev2TransformTypes';
    return withChanged(at, (member, its) => swap(member, inTransforms ? 'cryptoRefArray' : its));
  };
  const cryptoProperties = swap(crypto, '') as CdxComponent['cryptoProperties'];
  return cryptoProperties === component.cryptoProperties ? component : { ...component, cryptoProperties };
}

function isReference(member: string): boolean {
  return member.endsWith('Ref') || member === 'algorithms' || member === 'cryptoRefArray';
}
