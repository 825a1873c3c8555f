import { createHash, X509Certificate } from 'node:crypto';
import { WindowElement, member, members, TAG, there } from '../model/der.js';
import { type SensorFinding, type FindingPlace, usedHere } from '../model/finding.js';
import { sensedFactsOf } from '../model/key-algorithm.js';
import { privateKeyHere } from '../model/private-key.js';
import type { Detector } from './detector.js';
import { opened, RoundsLeft, schemeName } from './password-scheme.js';

const DATA = '1.2.840.113549.1.7.1';
const ENCRYPTED_DATA = '1.2.840.113549.1.7.6';
const KEY_BAG = '1.2.840.113549.1.12.10.1.1';
const SHROUDED_KEY_BAG = '1.2.840.113549.1.12.10.1.2';
const CERT_BAG = '1.2.840.113549.1.12.10.1.3';
const LOCAL_KEY_ID = '1.2.840.113549.1.9.21';
const FRIENDLY_NAME = '1.2.840.113549.1.9.20';
const DIGESTS: Readonly<Record<string, string>> = {
  '1.3.14.3.2.26': 'SHA-1',
  '2.16.840.1.101.3.4.2.1': 'SHA-256',
  '2.16.840.1.101.3.4.2.2': 'SHA-384',
  '2.16.840.1.101.3.4.2.3': 'SHA-512',
};

interface Bag {
  readonly id: string;
  readonly value: WindowElement;
  readonly keyId: string | undefined;
  readonly name: string | undefined;
}

/** `SEQUENCE { INTEGER 3, … }`, which a certificate never is. */
export function looksLikePkcs12(bytes: Buffer): boolean {
  if (bytes[0] !== 0x30) return false;
  const length = bytes[1] ?? 0;
  const start = length < 0x80 ? 2 : 2 + (length & 0x7f);
  return bytes[start] === TAG.integer && bytes[start + 1] === 1 && bytes[start + 2] === 3;
}

/**
 * A PKCS #12 key store (RFC 7292): how it is protected, that there are private keys, and its certificates where they are in the
 * open or one of the passwords opens them. Private keys stay closed.
 */
export const pkcs12: Detector = ({ location, bytes, storePasswords }) => {
  if (!looksLikePkcs12(bytes)) return [];
  const place = { location };
  try {
    return storeHere(bytes, place, ['', ...storePasswords]);
  } catch {
    return []; // BER of indefinite length, or no key store after all.
  }
};

function storeHere(bytes: Buffer, place: FindingPlace, passwords: readonly string[]): SensorFinding[] {
  const [, authSafe, mac] = WindowElement.of(bytes).children();
  const findings: SensorFinding[] = [];
  const bags: Bag[] = [];
  const rounds = new RoundsLeft();
  for (const part of member(authSafe, 1).inside().inside().children()) {
    const content = member(part, 1).inside();
    const type = member(part, 0).oid();
    if (type === DATA) bags.push(...bagsOf(WindowElement.of(content.contents())));
    if (type !== ENCRYPTED_DATA) continue;
    const [, algorithm, sealed] = members(member(content, 1));
    findings.push(scheme(schemeName(there(algorithm)), place, 'PKCS #12 encryption'));
    for (const password of passwords) {
      const found = openedBags(there(algorithm), there(sealed).contents(), password, rounds);
      bags.push(...found);
      if (found.length > 0) break;
    }
  }
  if (mac !== undefined) {
    const digest = member(member(member(mac, 0), 0), 0).oid();
    findings.push(scheme(`HMAC-${DIGESTS[digest] ?? digest}`, place, 'PKCS #12 integrity'));
  }
  return [...findings, ...bagsHere(bags, place)];
}

function scheme(name: string, place: FindingPlace, symbol: string): SensorFinding {
  return usedHere({ name, properties: {} }, { ...place, symbol });
}

function openedBags(algorithm: WindowElement, sealed: Buffer, password: string, rounds: RoundsLeft): Bag[] {
  const clear = opened(algorithm, sealed, password, rounds);
  try {
    return clear === undefined ? [] : bagsOf(WindowElement.of(clear));
  } catch {
    return []; // The padding was right by chance.
  }
}

function bagsOf(contents: WindowElement): Bag[] {
  return contents.children().flatMap((bag) => {
    const [id, value, attributes] = bag.children();
    if (id === undefined || value === undefined) return [];
    const keyId = attribute(attributes, LOCAL_KEY_ID)?.toString('hex');
    const name = attribute(attributes, FRIENDLY_NAME);
    return [
      { id: id.oid(), value: value.inside(), keyId, name: name && Buffer.from(name).swap16().toString('utf16le') },
    ];
  });
}

function attribute(set: WindowElement | undefined, id: string): Buffer | undefined {
  const found = set?.children().find((one) => one.children()[0]?.oid() === id);
  return found?.children()[1]?.children()[0]?.contents();
}

function bagsHere(bags: readonly Bag[], place: FindingPlace): SensorFinding[] {
  const certificates = bags.filter(({ id }) => id === CERT_BAG).map((bag) => ({ ...bag, der: derOf(bag.value) }));
  const keys = bags.filter(({ id }) => id === KEY_BAG || id === SHROUDED_KEY_BAG);
  return [
    ...certificates.map(({ der, name }) => ({ place: at(place, name), certificate: der.toString('base64') })),
    ...keys.map(({ id, value, keyId, name }) => {
      const own = keyId === undefined ? undefined : certificates.find((certificate) => certificate.keyId === keyId);
      const facts = own === undefined ? {} : sensedFactsOf(new X509Certificate(own.der).publicKey);
      const protection = { scheme: id === KEY_BAG ? undefined : schemeName(value.children()[0] ?? value) };
      const symbol =
        name ??
        (keyId === undefined ? undefined : `key ${createHash('sha256').update(keyId).digest('hex').slice(0, 8)}`);
      return privateKeyHere(facts, protection, at(place, symbol), name);
    }),
  ];
}

function at(place: FindingPlace, symbol: string | undefined): FindingPlace {
  return symbol === undefined ? place : { ...place, symbol };
}

/** CertBag: an identifier and, tagged, an OCTET STRING. */
function derOf(bag: WindowElement): Buffer {
  return bag.children()[1]?.inside().contents() ?? Buffer.alloc(0);
}
