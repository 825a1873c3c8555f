import { linksOf } from '../cyclonedx/component-reader.js';
import { PUBLIC_KEY_PROPERTY, WITHHELD_PROPERTY } from '../../model/asset-identity.js';
import type { AlgorithmProperties, CdxComponent, DraftAsset, DraftOccurrence } from '../../model/document.js';
import type { X509CertificateContent } from './x509-certificate.js';
import type { PublicKeyAlgorithm } from '../../judgement/vocabularies/public-key-algorithm.js';
import { truncate } from '../../../platform/text/truncate.js';

const MAX_TEXT = 4000;

export const SERIAL_NUMBER_PROPERTY = 'sealwright:certificate-serial-number';
export const NAMES_PROPERTY = 'sealwright:certificate-names';
export const PURPOSES_PROPERTY = 'sealwright:certificate-purposes';
const KEY_USAGES_PROPERTY = 'sealwright:certificate-key-usages';

/** FoundPrivateKey is a private key, identified by its public key. The bytes of the private key are not kept. */
export interface FoundPrivateKey {
  readonly name: string;
  /** SHA-256 of the public key. */
  readonly fingerprint: string;
  /** Undefined if the public key is also encrypted. */
  readonly algorithm: PublicKeyAlgorithm | undefined;
  /** Identifier of the key in the format of the file. If present, `fingerprint` is not the SHA-256 of a SubjectPublicKeyInfo. */
  readonly id?: string;
  readonly lifetime?: Lifetime;
  /** Name of the scheme that protects the key; undefined if the key is unprotected. */
  readonly securedBy: string | undefined;
}

export interface FoundPublicKey {
  readonly name: string;
  /** SHA-256 of the SubjectPublicKeyInfo; undefined if the key cannot be encoded as a SubjectPublicKeyInfo. */
  readonly fingerprint: string | undefined;
  /** `SHA256:…`, as shown by ssh-keygen. */
  readonly sshFingerprint?: string;
  readonly algorithm: PublicKeyAlgorithm;
  readonly format: string;
  /** Fingerprint in the format of the file. If present, the fingerprint identifies the key. */
  readonly id?: string;
  readonly lifetime?: Lifetime;
}

/** Lifetime is the validity period recorded with a key. */
export interface Lifetime {
  readonly creationDate?: string;
  readonly expirationDate?: string;
  /** Present for a revoked key. */
  readonly state?: 'deactivated' | 'compromised';
}

/** FoundSecretKey is a cipher or MAC key in a key store. The bytes of the key are not kept. */
export interface FoundSecretKey {
  readonly name: string;
  /** Hash of the key store and the alias, which identifies the key. */
  readonly id: string;
  /** Undefined if the key store does not contain the algorithm or could not be opened. */
  readonly algorithm: string | undefined;
  readonly bits: number | undefined;
  /** Undefined if the key is unprotected. */
  readonly securedBy: string | undefined;
}

interface KeyFacts {
  readonly name: string;
  readonly facts: object;
  readonly fingerprint: string | undefined;
  readonly algorithm: PublicKeyAlgorithm | undefined;
  /** Whether the key is unprotected, so that anyone who can read the file can use the key. */
  readonly bytesFound?: boolean;
  readonly isProven?: boolean;
}

/** CredentialComponents collects the contents of certificates, key stores and key files as components. Refs are derived from the identity of each component. */
export class CredentialComponents {
  readonly assets = new Map<string, DraftAsset>();

  certificate(certificate: X509CertificateContent, occurrences: readonly DraftOccurrence[]): string {
    const { fingerprint, subject, issuer, notBefore, notAfter, key, signature } = certificate;
    const ref = `certificate ${fingerprint}`;
    const signatureRef = this.algorithm(signature.name, signature.oid, { primitive: 'signature' });
    const keyRef = this.publicKey(
      { name: `key of ${certificateName(certificate)}`, fingerprint: key.fingerprint, algorithm: key, format: 'X.509' },
      occurrences,
    );
    const certificateProperties = {
      subjectName: subject,
      issuerName: issuer,
      notValidBefore: rfc3339(notBefore),
      notValidAfter: rfc3339(notAfter),
      signatureAlgorithmRef: signatureRef,
      subjectPublicKeyRef: keyRef,
      certificateFormat: 'X.509',
    };
    const component = {
      type: 'cryptographic-asset',
      name: certificateName(certificate),
      cryptoProperties: { assetType: 'certificate', certificateProperties },
      hashes: [{ alg: 'SHA-256', content: fingerprint }],
      properties: propertiesOf(certificate),
    };
    this.add({ ref, kind: 'certificate', component, isProven: true }, occurrences);
    return ref;
  }

  /** Records that a certificate depends on its issuer. */
  issuedBy(certificate: string, issuer: string): void {
    this.assets.get(certificate)?.links.push({ to: issuer, kind: 'dependsOn' });
  }

  publicKey(key: FoundPublicKey, occurrences: readonly DraftOccurrence[]): string {
    const { fingerprint, sshFingerprint, algorithm, format, name, lifetime } = key;
    const id = key.id ?? sshFingerprint ?? fingerprint;
    const ref = `public key ${key.id ?? fingerprint ?? sshFingerprint}`;
    const facts = { type: 'public-key', id, ...sizeOf(algorithm), format, ...lifetime };
    // The fingerprint of an OpenPGP key does not cover the key's lifetime, so other reports may contain a different lifetime.
    const isProven = key.id === undefined && fingerprint !== undefined;
    this.key(ref, { name, facts, fingerprint, algorithm, isProven }, occurrences);
    return ref;
  }

  privateKey(key: FoundPrivateKey, occurrences: readonly DraftOccurrence[]): string {
    const { name, algorithm, securedBy, lifetime } = key;
    const ref = `private key ${key.id ?? key.fingerprint}`;
    const fingerprint = key.id === undefined ? key.fingerprint : undefined;
    const facts = { type: 'private-key', id: key.id ?? key.fingerprint, ...sizeOf(algorithm), ...lifetime };
    if (securedBy === undefined) {
      this.key(ref, { name, facts, fingerprint, algorithm, bytesFound: true }, occurrences);
      return ref;
    }
    this.key(ref, { name, facts: { ...facts, ...this.secured(securedBy) }, fingerprint, algorithm }, occurrences);
    return ref;
  }

  secretKey({ name, id, algorithm, bits, securedBy }: FoundSecretKey, occurrences: readonly DraftOccurrence[]): string {
    const ref = `secret key ${id}`;
    const size = bits === undefined ? {} : { size: bits };
    const facts = { type: 'secret-key', id, ...size, ...(securedBy === undefined ? {} : this.secured(securedBy)) };
    const properties = bits === undefined ? {} : { parameterSetIdentifier: String(bits) };
    const used = algorithm === undefined ? undefined : symmetric(algorithm, bits, properties);
    const bytesFound = securedBy === undefined;
    this.key(ref, { name, facts, fingerprint: undefined, algorithm: used, bytesFound }, occurrences);
    return ref;
  }

  private secured(scheme: string): object {
    return { securedBy: { mechanism: 'Software', algorithmRef: this.algorithm(scheme, undefined, {}) } };
  }

  private key(ref: string, key: KeyFacts, occurrences: readonly DraftOccurrence[]): void {
    const { algorithm } = key;
    const uses =
      algorithm === undefined
        ? {}
        : { algorithmRef: this.algorithm(algorithm.name, algorithm.oid || undefined, algorithm.properties) };
    const own = key.fingerprint === undefined ? [] : [{ name: PUBLIC_KEY_PROPERTY, value: key.fingerprint }];
    const withheld = key.bytesFound === true ? [{ name: WITHHELD_PROPERTY, value: 'file' }] : [];
    const component = {
      type: 'cryptographic-asset',
      name: key.name,
      cryptoProperties: {
        assetType: 'related-crypto-material',
        relatedCryptoMaterialProperties: { ...key.facts, ...uses },
      },
      properties: [...own, ...withheld],
    };
    this.add({ ref, kind: 'related-crypto-material', component, isProven: key.isProven }, occurrences);
  }

  private algorithm(name: string, oid: string | undefined, properties: AlgorithmProperties): string {
    const { primitive = 'signature' } = properties;
    const ref = primitive === 'signature' ? `algorithm ${name}` : `algorithm ${name} ${primitive}`;
    const component = {
      type: 'cryptographic-asset',
      name,
      cryptoProperties: {
        assetType: 'algorithm',
        ...(oid === undefined ? {} : { oid }),
        algorithmProperties: properties,
      },
    };
    this.add({ ref, kind: 'algorithm', component, isProven: true }, []);
    return ref;
  }

  private add(asset: Omit<DraftAsset, 'links' | 'occurrences'>, occurrences: readonly DraftOccurrence[]): void {
    const { ref, component } = asset;
    const known = this.assets.get(ref);
    const links = linksOf(component);
    if (known === undefined) this.assets.set(ref, { ...asset, occurrences: [...occurrences], links });
    else {
      known.occurrences.push(...occurrences);
      known.links.push(...links);
    }
  }
}

function sizeOf(algorithm: PublicKeyAlgorithm | undefined): { size?: number } {
  const bits = algorithm?.bits ?? null;
  return bits === null ? {} : { size: bits };
}

/** Returns the symmetric algorithm with a JCA (Java Cryptography Architecture) name or a similar name, such as `AES`, `DESede` or `HmacSHA256`. */
function symmetric(name: string, bits: number | undefined, properties: AlgorithmProperties): PublicKeyAlgorithm {
  const isMac = /mac/i.test(name);
  const title = isMac || bits === undefined || !/^(?:AES|ARIA|Camellia|SEED)$/i.test(name) ? name : `${name}-${bits}`;
  const primitive = isMac ? 'mac' : /^(?:RC4|ARCFOUR|ChaCha20)/i.test(name) ? 'stream-cipher' : 'block-cipher';
  return { oid: '', name: title, bits: bits ?? null, curve: null, properties: { primitive, ...properties } };
}

function certificateName({ commonName, names, subject, fingerprint }: X509CertificateContent): string {
  const name = [commonName, names[0], subject].find((text) => text !== undefined && text !== '');
  return truncate(name ?? `certificate ${fingerprint.slice(0, 16)}`, 500);
}

function propertiesOf({
  serialNumber,
  names,
  purposes,
  isAuthority,
  keyUsages,
}: X509CertificateContent): NonNullable<CdxComponent['properties']> {
  const uses = [...(isAuthority ? ['ca'] : []), ...purposes].join(' ');
  return [
    { name: SERIAL_NUMBER_PROPERTY, value: serialNumber },
    ...(names.length === 0 ? [] : [{ name: NAMES_PROPERTY, value: truncate(names.join(' '), MAX_TEXT) }]),
    ...(keyUsages.length === 0 ? [] : [{ name: KEY_USAGES_PROPERTY, value: keyUsages.join(' ') }]),
    ...(uses === '' ? [] : [{ name: PURPOSES_PROPERTY, value: truncate(uses, MAX_TEXT) }]),
  ];
}

/** rfc3339 formats a time (RFC 3339), omitting the fraction of a second if the fraction is zero. Returns undefined for an invalid date. */
export function rfc3339(time: Date): string | undefined {
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString().replace('.000Z', 'Z');
}
