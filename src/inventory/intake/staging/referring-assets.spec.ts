import { describe, expect, it } from 'vitest';
import { readBody } from './body-reader.js';
import { DocumentAssets } from './document-assets.js';

interface Part {
  readonly 'bom-ref': string;
  readonly [member: string]: unknown;
}

const asset = (ref: string, name: string, cryptoProperties: object): Part => ({
  type: 'cryptographic-asset',
  'bom-ref': ref,
  name,
  cryptoProperties,
});
const algorithm = (name: string, ref = name) => asset(ref, name, { assetType: 'algorithm', algorithmProperties: {} });
const protocol = (ref: string, protocolProperties: object) =>
  asset(ref, 'TLS 1.3', {
    assetType: 'protocol',
    protocolProperties: { type: 'tls', version: '1.3', ...protocolProperties },
  });
const SUITE = { name: 'TLS_AES_256_GCM_SHA384', algorithms: ['AES-256-GCM'], identifiers: ['0x13', '0x02'] };

/** Returns the IDs of a document's assets, by bom-ref. */
function idsOf(components: readonly Part[], dependsOn: Record<string, readonly string[]> = {}, specVersion = '1.6') {
  const dependencies = Object.entries(dependsOn).map(([ref, list]) => ({ ref, dependsOn: list }));
  const document = { bomFormat: 'CycloneDX', specVersion, version: 1, components, dependencies };
  const bytes = Buffer.from(JSON.stringify(document));
  const [read] = readBody(bytes, { kind: 'json', mode: 'strict', source: undefined, password: undefined });
  if (read === undefined) throw new Error('no document');
  const assets = new DocumentAssets(read.draft(), { id: '00000000-0000-8000-8000-000000000000', name: 'test' });
  return Object.fromEntries(assets.named());
}

describe('an asset identified by its references', () => {
  it('differs as a protocol with a different key exchange', () => {
    const config = (group: string) =>
      idsOf([
        algorithm(group),
        algorithm('AES-256-GCM'),
        protocol('p', { cipherSuites: [SUITE], cryptoRefArray: [group] }),
      ])['p'];
    expect(config('X25519MLKEM768')).toBe(config('X25519MLKEM768'));
    expect(config('X25519MLKEM768')).not.toBe(config('X25519'));
  });

  it('differs as an algorithm with an unknown name that depends on a different algorithm', () => {
    const cipher = (name: string, target: string) =>
      idsOf([algorithm(name), algorithm(target)], { [name]: [target] })[name];
    expect(cipher('PaymentCipher', 'AES-256')).not.toBe(cipher('PaymentCipher', 'DES'));
    expect(cipher('AES-128', 'SHA-256')).toBe(cipher('AES-128', 'DES'));
  });

  it('differs as a certificate whose algorithm is known only from dependencies', () => {
    const names = { subjectName: 'CN=a', issuerName: 'CN=b', notValidBefore: '2026-01-01T00:00:00Z' };
    const of = (target: string) =>
      idsOf([asset('c', 'a', { assetType: 'certificate', certificateProperties: names }), algorithm(target)], {
        c: [target],
      })['c'];
    expect(of('ML-DSA-65')).not.toBe(of('RSA-1024'));
  });

  it('is identified over as many steps as a verdict follows', () => {
    const top = (end: string) =>
      idsOf([algorithm('Outer'), algorithm('Inner'), algorithm(end)], { Outer: ['Inner'], Inner: [end] })['Outer'];
    expect(top('AES-256')).not.toBe(top('DES'));
  });

  it('is the same for any order of the document parts, and with cycles', () => {
    const suites = [SUITE, { name: 'TLS_AES_128_GCM_SHA256', identifiers: ['0x01', '0x13'] }];
    const parts = [
      algorithm('X25519'),
      algorithm('Outer'),
      algorithm('Inner'),
      algorithm('AES-256-GCM'),
      protocol('p', { cipherSuites: suites, cryptoRefArray: ['X25519', 'Outer'] }),
    ];
    const circle = { Outer: ['Inner', 'X25519'], Inner: ['Outer'] };
    const turned = protocol('p', { cryptoRefArray: ['Outer', 'X25519'], cipherSuites: suites.toReversed() });
    const again = idsOf([turned, ...parts.slice(0, 4).toReversed()], { Inner: ['Outer'], Outer: ['X25519', 'Inner'] });
    expect(again).toEqual(idsOf(parts, circle));
  });

  it('is the same for any order of IKEv2 transforms', () => {
    const ike = (ikev2TransformTypes: object) =>
      idsOf([algorithm('AES-256-GCM'), algorithm('X25519'), protocol('p', { type: 'ike', ikev2TransformTypes })])['p'];
    expect(ike({ encr: ['AES-256-GCM'], ke: ['X25519'] })).toBe(ike({ ke: ['X25519'], encr: ['AES-256-GCM'] }));
  });
});

describe('CycloneDX 1.7 names', () => {
  const tls = (tlsGroups: string[]) => {
    const ids = idsOf(
      [algorithm('AES-256-GCM'), protocol('p', { cipherSuites: [{ ...SUITE, tlsGroups }] })],
      {},
      '1.7',
    );
    return { id: ids['p'], all: Object.values(ids) };
  };

  it('of groups become separate algorithms that the protocol depends on', () => {
    expect(tls(['X25519', 'X25519MLKEM768']).all).toHaveLength(4);
    expect(tls(['X25519']).id).not.toBe(tls(['X25519MLKEM768']).id);
    expect(tls(['secp256r1', 'X25519']).id).toBe(tls(['X25519', 'secp256r1']).id);
  });

  it('of IKEv2 transforms become algorithms, unless a reference identifies them', () => {
    const ike = (ke: object) =>
      idsOf([algorithm('X25519'), protocol('p', { type: 'ike', ikev2TransformTypes: { ke: [ke] } })], {}, '1.7');
    expect(Object.keys(ike({ group: 36 }))).toHaveLength(3);
    expect(Object.keys(ike({ group: 31, algorithm: 'X25519' }))).toHaveLength(2);
  });

  it('of a family add nothing if the name contains the same information', () => {
    const signer = (name: string, algorithmFamily?: string) => {
      const algorithmProperties = algorithmFamily === undefined ? {} : { algorithmFamily };
      return idsOf([asset('a', name, { assetType: 'algorithm', algorithmProperties })], {}, '1.7')['a'];
    };
    expect(signer('AES-256-GCM', 'AES')).toBe(signer('AES-256-GCM'));
    expect(signer('Signer', 'ML-DSA')).not.toBe(signer('Signer', 'ECDSA'));
  });
});
