import { canonicalJson } from '../../platform/json/canonical-json.js';
import { keptMember } from './kept-members.js';
import { isMembers } from './json-values.js';
import type { CdxComponent } from './document.js';

/** Travels with an exported certificate: its SHA-256 in hexadecimal. */
export const CERTIFICATE_PROPERTY = 'sealwright:certificate-sha256';
const CERTIFICATE = 'cryptoProperties.certificateProperties';
const MATERIAL = 'cryptoProperties.relatedCryptoMaterialProperties';

/** The SHA-256 of a certificate in hexadecimal, as its component says it in one of the ways that 1.6 has. */
export function certificateSha256({ properties, hashes }: CdxComponent): string | undefined {
  return (
    properties?.find(({ name }) => name === CERTIFICATE_PROPERTY)?.value ??
    hashes?.find(({ alg }) => alg === 'SHA-256')?.content.toLowerCase()
  );
}

/** The same, or as 1.7 says it. */
export function statedSha256(component: CdxComponent): string | undefined {
  const { alg, content } = fingerprintIn(component, CERTIFICATE) ?? {};
  return certificateSha256(component) ?? (alg === 'SHA-256' ? content : undefined);
}

/** True when the fingerprint of a certificate is stated as 1.7 has it. */
export function statesFingerprint(component: CdxComponent): boolean {
  return fingerprintIn(component, CERTIFICATE) !== undefined;
}

/** What tells a certificate by its names and times. */
export function namedFacts({ name, cryptoProperties }: CdxComponent): unknown[] {
  const facts = cryptoProperties?.certificateProperties ?? {};
  return [name, facts['subjectName'], facts['issuerName'], facts['notValidBefore'], facts['notValidAfter']];
}

/**
 * What else a component says of a certificate by itself, as canonical JSON: serial number, fingerprints other than SHA-256 and
 * extensions (CycloneDX 1.7, also as `asVersion16` keeps them). '' when it says nothing more.
 */
export function furtherFacts(component: CdxComponent): string {
  const serial = memberOf(component, CERTIFICATE, 'serialNumber');
  const extensions = memberOf(component, CERTIFICATE, 'certificateExtensions');
  const stated = fingerprintIn(component, CERTIFICATE);
  const others = [...(component.hashes ?? []), ...(stated === undefined ? [] : [stated])]
    .filter(({ alg }) => alg !== 'SHA-256')
    .map(({ alg, content }) => `${alg} ${content.toLowerCase()}`)
    .sort();
  if (serial === undefined && extensions === undefined && others.length === 0) return '';
  return canonicalJson([
    typeof serial === 'string' ? bareSerial(serial) : null,
    [...new Set(others)],
    extensions ?? null,
  ]);
}

/** The fingerprint that 1.7 states of a key or other material: algorithm and digest; undefined when there is none. */
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

/** As it stands, or as it was kept when the component became one of 1.6. */
function memberOf(component: CdxComponent, path: string, member: string): unknown {
  const { certificateProperties, relatedCryptoMaterialProperties } = component.cryptoProperties ?? {};
  const facts = path === CERTIFICATE ? certificateProperties : relatedCryptoMaterialProperties;
  return facts?.[member] ?? keptMember(component, `${path}.${member}`);
}

/** `0A:01`, `0x0a01` and `a01` are one number. */
function bareSerial(serial: string): string {
  const digits = serial.toLowerCase().replace(/^0x/, '').replaceAll(/[\s:]/g, '');
  return digits.replace(/^0+(?=.)/, '');
}
