import { canonicalJson, inCanonicalOrder } from '../../platform/json/canonical-json.js';
import { keptMember, type CdxComponent } from './document.js';
import { isMembers } from './json.js';

/** Name of the property that contains the hexadecimal SHA-256 of an exported certificate. */
export const CERTIFICATE_PROPERTY = 'sealwright:certificate-sha256';
const CERTIFICATE = 'cryptoProperties.certificateProperties';
const MATERIAL = 'cryptoProperties.relatedCryptoMaterialProperties';

/** certificateSha256 returns the hexadecimal SHA-256 of a certificate from a property or hash of the component, as in CycloneDX 1.6. */
export function certificateSha256({ properties, hashes }: CdxComponent): string | undefined {
  return (
    properties?.find(({ name }) => name === CERTIFICATE_PROPERTY)?.value ??
    hashes?.find(({ alg }) => alg === 'SHA-256')?.content.toLowerCase()
  );
}

/** statedSha256 is like `certificateSha256`, but also reads a fingerprint in the CycloneDX 1.7 format. */
export function statedSha256(component: CdxComponent): string | undefined {
  const { alg, content } = fingerprintIn(component, CERTIFICATE) ?? {};
  return certificateSha256(component) ?? (alg === 'SHA-256' ? content : undefined);
}

/** statesFingerprint reports whether the component contains a certificate fingerprint in the CycloneDX 1.7 format. */
export function statesFingerprint(component: CdxComponent): boolean {
  return fingerprintIn(component, CERTIFICATE) !== undefined;
}

/** namedFacts returns the facts that identify a certificate by names and validity. */
export function namedFacts({ name, cryptoProperties }: CdxComponent): unknown[] {
  const facts = cryptoProperties?.certificateProperties ?? {};
  return [name, facts['subjectName'], facts['issuerName'], facts['notValidBefore'], facts['notValidAfter']];
}

/**
 * furtherFacts returns additional facts that identify a certificate, as canonical JSON: serial number, fingerprints other than SHA-256, and extensions. The
 * facts are read from the members of CycloneDX 1.7, or from the properties in which `asVersion16` preserved the members. Returns '' if there are no facts.
 */
export function furtherFacts(component: CdxComponent): string {
  const serial = memberOf(component, CERTIFICATE, 'serialNumber');
  const extensions = memberOf(component, CERTIFICATE, 'certificateExtensions');
  const stated = fingerprintIn(component, CERTIFICATE);
  const { hashes } = component;
  if (serial === undefined && extensions === undefined && stated === undefined && hashes === undefined) return '';
  const others = [...(hashes ?? []), ...(stated === undefined ? [] : [stated])]
    .filter(({ alg }) => alg !== 'SHA-256')
    .map(({ alg, content }) => `${alg} ${content.toLowerCase()}`)
    .sort();
  if (serial === undefined && extensions === undefined && others.length === 0) return '';
  return canonicalJson([
    typeof serial === 'string' ? bareSerial(serial) : null,
    [...new Set(others)],
    Array.isArray(extensions) ? inCanonicalOrder(extensions) : (extensions ?? null),
  ]);
}

/**
 * materialFingerprint returns the CycloneDX 1.7 fingerprint of a key or other material, as algorithm and digest. Undefined if there is no fingerprint.
 */
export function materialFingerprint(component: CdxComponent): readonly [string, string] | undefined {
  const stated = fingerprintIn(component, MATERIAL);
  return stated === undefined ? undefined : [stated.alg, stated.content];
}

function fingerprintIn(component: CdxComponent, path: string): { alg: string; content: string } | undefined {
  const stated = memberOf(component, path, 'fingerprint');
  if (!isMembers(stated)) return undefined;
  const { alg, content } = stated;
  return typeof alg === 'string' && typeof content === 'string' ? { alg, content: content.toLowerCase() } : undefined;
}

/** Returns a member of the certificate or material properties, or the value that `asVersion16` preserved when it converted the component. */
function memberOf(component: CdxComponent, path: string, member: string): unknown {
  const { certificateProperties, relatedCryptoMaterialProperties } = component.cryptoProperties ?? {};
  const facts = path === CERTIFICATE ? certificateProperties : relatedCryptoMaterialProperties;
  return facts?.[member] ?? (component.properties && keptMember(component, `${path}.${member}`));
}

/** Normalizes a serial number: `0A:01`, `0x0a01` and `a01` are the same number. */
function bareSerial(serial: string): string {
  const digits = serial.toLowerCase().replace(/^0x/, '').replaceAll(/[\s:]/g, '');
  return digits.replace(/^0+(?=.)/, '');
}
