import { createHash, X509Certificate } from 'node:crypto';
import { type BksEntry, isBks, readBks } from '../../../formats/java/bks.js';
import { isJavaKeyStore, readJavaKeyStore } from '../../../formats/java/key-store.js';
import { DerivationBudget } from '../../../formats/pkcs/password-encryption.js';
import { isPkcs12, type Pkcs12Key, type Pkcs12Store, readPkcs12 } from '../../../formats/pkcs/pkcs12.js';
import { type FindingPlace, type SensorFinding, usedHere } from '../model/finding.js';
import { sensedFactsOf, type SensedKeyFacts } from '../model/key-algorithm.js';
import { privateKeyHere } from '../model/private-key.js';
import type { Detector } from './detector.js';

/** Reads a JKS or JCEKS keystore. The certificates are not encrypted. The keys are not decrypted. */
export const javaKeyStore: Detector = ({ location, bytes }) =>
  isJavaKeyStore(bytes)
    ? wholeStore(() => {
        const { type, entries } = readJavaKeyStore(bytes);
        return storeHere(
          entries.map((entry) => ({ ...entry, securedBy: type })),
          location,
        );
      })
    : [];

/** Reads a BKS store of Bouncy Castle, as used in Android apps. The certificates are not encrypted. The keys are not decrypted. */
export const bks: Detector = ({ location, bytes }) =>
  isBks(bytes) ? wholeStore(() => storeHere(readBks(bytes, '', new DerivationBudget()), location)) : [];

/**
 * Reads a PKCS #12 key store (RFC 7292): its protection, whether it contains private keys, and its certificates, if the certificates are not encrypted or one
 * of the passwords decrypts them. Private keys are not decrypted.
 */
export const pkcs12: Detector = ({ location, bytes, storePasswords }) => {
  if (!isPkcs12(bytes)) return [];
  const options = {
    passwords: ['', null, ...storePasswords],
    budget: new DerivationBudget(),
    nameByOid: () => undefined,
  };
  return wholeStore(() => pkcs12Here(readPkcs12(bytes, options), { location }));
};

/** Returns the findings in a store, or an empty array if the file is not a store or is damaged. */
function wholeStore(read: () => SensorFinding[]): SensorFinding[] {
  try {
    return read();
  } catch {
    return [];
  }
}

type StoredEntry = Pick<BksEntry, 'alias' | 'kind' | 'certificates' | 'securedBy'>;

function storeHere(entries: readonly StoredEntry[], location: string): SensorFinding[] {
  return entries.flatMap(({ alias, kind, certificates, securedBy }) => {
    const place = { location, symbol: alias };
    const found = certificates.map((der): SensorFinding => ({ place, certificate: der.toString('base64') }));
    const facts = factsOfKey(certificates[0]);
    if (kind === 'private-key') found.push(privateKeyHere(facts, { scheme: securedBy }, place, alias));
    return found;
  });
}

function pkcs12Here(store: Pkcs12Store, place: FindingPlace): SensorFinding[] {
  const { certificates, keys, schemes, mac } = store;
  const used = (name: string, symbol: string) => usedHere({ name, properties: {} }, { ...place, symbol });
  return [
    ...schemes.map((scheme) => used(scheme, 'PKCS #12 encryption')),
    ...(mac === undefined ? [] : [used(mac, 'PKCS #12 integrity')]),
    ...certificates.map(({ der, name }) => ({ place: at(place, name), certificate: der.toString('base64') })),
    ...keys.map((key) => keyHere(key, store, place)),
  ];
}

function keyHere({ name, keyId, securedBy }: Pkcs12Key, { certificates }: Pkcs12Store, place: FindingPlace) {
  const own = keyId === undefined ? undefined : certificates.find((certificate) => certificate.keyId === keyId);
  const hashed = keyId === undefined ? undefined : createHash('sha256').update(keyId).digest('hex').slice(0, 8);
  const symbol = name ?? (hashed === undefined ? undefined : `key ${hashed}`);
  return privateKeyHere(factsOfKey(own?.der), { scheme: securedBy }, at(place, symbol), name);
}

function at(place: FindingPlace, symbol: string | undefined): FindingPlace {
  return symbol === undefined ? place : { ...place, symbol };
}

/** Returns facts about a private key from its certificate, or an empty object if the certificate cannot be read. */
function factsOfKey(der: Buffer | undefined): Partial<SensedKeyFacts> {
  try {
    return der === undefined ? {} : sensedFactsOf(new X509Certificate(der).publicKey);
  } catch {
    return {};
  }
}
