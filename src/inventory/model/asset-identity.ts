import { hash } from 'node:crypto';
import { canonicalJson, inCanonicalOrder } from '../../platform/json/canonical-json.js';
import { uuidOfDigest } from '../../platform/text/uuid-bytes.js';
import { certificateSha256, namedFacts, statesFingerprint } from './certificate-identity.js';
import { ALGORITHM_FAMILY, type CdxComponent, type DraftAsset, keptMember } from './document.js';

/** Names of the properties that preserve the identity of an exported asset for a later import. */
export const SCOPE_PROPERTY = 'sealwright:scope';
export const ORDINAL_PROPERTY = 'sealwright:ordinal';
export const WITHHELD_PROPERTY = 'sealwright:withheld';
export const PUBLIC_KEY_PROPERTY = 'sealwright:public-key-sha256';

const GENERATED = /[@_-]?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TELLING_ID = /^.{16,}$/;

/** hashId returns the UUIDv8 (RFC 9562 section 5.8) derived from the SHA-256 of the given facts. */
export function hashId(...facts: unknown[]): string {
  return hashIdOfText(canonicalJson(facts));
}

export function hashIdOfText(text: string | Uint8Array): string {
  // The digest is a binary string, because a Buffer would cost twice as much.
  return uuidOfDigest(hash('sha256', text, 'binary'));
}

export function propertyOf(component: CdxComponent, name: string): string | undefined {
  return component.properties?.find((property) => property.name === name)?.value;
}

/** Removes case and separators: SHA256, sha-256 and SHA_256 are the same name. */
function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]+/g, '');
}

export function bareOid(oid: string | undefined): string | undefined {
  return oid?.replace(/^(?:urn:)?oid:/i, '');
}

/**
 * ownIdentity returns the facts that identify an asset, or undefined if the asset can be identified only by its location (`anonymousIdentity`). An algorithm is
 * identified by all its facts, regardless of where it is used; a certificate by its fingerprint, otherwise by subject, issuer and validity; a key or other
 * material by the hash of its public half, otherwise by an id long enough to be unique; a protocol by type, version and suites; a component by its package
 * URL, otherwise by group, name and version.
 *
 * If the verdict depends on an asset's references, `ProvisionalAssets` adds the references to the facts.
 */
export function ownIdentity(asset: DraftAsset): unknown[] | undefined {
  const { component, kind } = asset;
  const crypto = component.cryptoProperties;
  switch (kind) {
    case 'algorithm':
      return [kind, bareName(component.name), bareOid(crypto?.oid), ...algorithmFacts(component)];
    case 'certificate':
      return [kind, ...certificateFacts(component)];
    case 'protocol':
      return [kind, bareName(component.name), bareOid(crypto?.oid), protocolFacts(crypto?.protocolProperties ?? {})];
    case 'component':
      return [kind, component.type, component.purl ?? [component.group, component.name, component.version]];
    case 'related-crypto-material':
      return materialFacts(component);
  }
}

function algorithmFacts(component: CdxComponent): unknown[] {
  const facts = sortedLists(component.cryptoProperties?.algorithmProperties);
  const family = keptMember(component, ALGORITHM_FAMILY);
  return family === undefined ? [facts] : [facts, family];
}

/** protocolIdentity returns the facts that identify a protocol, regardless of the order of its lists and members. */
export function protocolIdentity({ kind, component }: DraftAsset): unknown[] {
  const crypto = component.cryptoProperties;
  const [type, version, suites, transforms] = protocolFacts(crypto?.protocolProperties ?? {});
  const ordered = suites.map(([name, identifiers]) => [name, identifiers?.toSorted()] as const);
  const facts = [type, version, inCanonicalOrder(ordered), transforms.toSorted()];
  return [kind, bareName(component.name), bareOid(crypto?.oid), facts];
}

function certificateFacts(component: CdxComponent): unknown[] {
  // Ignores a fingerprint in the CycloneDX 1.7 format. The previous version did not read that format, so the identities of stored certificates do not include
  // the fingerprint.
  const fingerprint = statesFingerprint(component) ? undefined : certificateSha256(component);
  return fingerprint === undefined ? namedFacts(component) : ['sha256', fingerprint];
}

type Suite = readonly [name: string | undefined, identifiers: readonly string[] | undefined];

/** Returns the facts in document order. */
function protocolFacts(facts: Record<string, unknown>): [unknown, unknown, Suite[], string[]] {
  const given = (facts['cipherSuites'] as { name?: string; identifiers?: string[] }[] | undefined) ?? [];
  const suites = given.map(({ name, identifiers }): Suite => [name, identifiers]);
  const transforms = Object.keys((facts['ikev2TransformTypes'] as object | undefined) ?? {});
  return [facts['type'], facts['version'], suites, transforms];
}

function materialFacts(component: CdxComponent): unknown[] | undefined {
  const fingerprint = propertyOf(component, PUBLIC_KEY_PROPERTY);
  const { type, id } = component.cryptoProperties?.relatedCryptoMaterialProperties ?? {};
  if (fingerprint !== undefined) return ['material', type, 'spki', fingerprint];
  return typeof id === 'string' && TELLING_ID.test(id) ? ['material', type, 'id', id] : undefined;
}

/**
 * anonymousIdentity returns the facts that identify a key which a source scan found without any distinguishing fact, such as `key@<random uuid>`: type,
 * algorithms, source and files. Lines are excluded, because line numbers change with every commit. `ordinal` distinguishes equal keys.
 */
export function anonymousIdentity(asset: DraftAsset, scope: string, algorithms: readonly string[]): unknown[] {
  const { component } = asset;
  const facts = { ...component.cryptoProperties?.relatedCryptoMaterialProperties };
  for (const name of ['algorithmRef', 'securedBy', 'state', 'value', 'updateDate']) delete facts[name];
  const files = [...new Set(asset.occurrences.map(({ location }) => location))].sort();
  return ['anonymous', scope, component.name.replace(GENERATED, ''), facts, [...algorithms].sort(), files];
}

/** Sorts lists, whose order has no meaning in algorithm properties. */
function sortedLists(facts: object | undefined): unknown {
  return Object.fromEntries(
    Object.entries(facts ?? {}).map(([name, fact]) => [
      name,
      Array.isArray(fact) ? (fact as unknown[]).map(String).toSorted((a, b) => (a < b ? -1 : 1)) : fact,
    ]),
  );
}
