import { describe, expect, it } from 'vitest';
import type { DraftAsset } from '../../model/document.js';
import { DraftRefs } from '../../model/draft-refs.js';
import { readBody } from './body-reader.js';

const asset = (name: string, cryptoProperties: object) => ({
  type: 'crypto-asset',
  'bom-ref': name,
  name,
  cryptoProperties,
});

/** Returns the assets of a document in the draft CBOM format (1.4-cbom-1.0), by name. */
function read(...components: object[]): Map<string, DraftAsset> {
  const document = { bomFormat: 'CBOM', specVersion: '1.4-cbom-1.0', version: 1, components };
  const bytes = Buffer.from(JSON.stringify(document));
  const [found] = readBody(bytes, { kind: 'json', mode: 'strict', source: undefined, password: undefined });
  const assets = found?.draft().assets(new DraftRefs()) ?? [];
  return new Map([...assets].map((one) => [one.component.name, one]));
}

const factsOf = (found: Map<string, DraftAsset>, name: string) => found.get(name)?.component.cryptoProperties;

describe('a 1.4-cbom-1.0 document', () => {
  it('reports in its detection contexts where an asset was found', () => {
    const found = read(
      asset('SHA256', {
        assetType: 'algorithm',
        detectionContext: [
          { filePath: 'a.py', lineNumbers: [9, 7, 8], symbols: ['sha256'], additionalContext: 'hashlib.sha256()' },
          { filePath: 'b.py' },
          { lineNumbers: [1] },
        ],
      }),
    );
    const places = found.get('SHA256')?.occurrences.map(({ location, line, symbol }) => [location, line, symbol]);
    expect(places).toEqual([
      ['a.py', 7, 'sha256'],
      ['b.py', null, null],
    ]);
  });

  it.each([
    ['AES', 'aes128-gcm', { parameterSetIdentifier: '128', mode: 'gcm' }],
    ['RSA', 'rsa2048', { parameterSetIdentifier: '2048' }],
    ['ECDH', 'ecdh-curve25519', { curve: 'curve25519' }],
    ['AES-128-GCM', 'aes-128-gcm', {}],
    ['Dilithium', 'Dilithium5', { parameterSetIdentifier: '5' }],
  ])('converts variants: %s as %s', (name, variant, facts) => {
    const found = read(asset(name, { assetType: 'algorithm', algorithmProperties: { variant } }));
    expect(factsOf(found, name)?.algorithmProperties).toEqual(facts);
  });

  it('converts levels and environments to the terms of 1.6', () => {
    const algorithmProperties = {
      primitive: 'blockcipher',
      implementationLevel: 'softwareTee',
      certificationLevel: 'eal4',
    };
    const found = read(asset('AES', { assetType: 'algorithm', algorithmProperties, nistQuantumSecurityLevel: 1 }));
    expect(factsOf(found, 'AES')?.algorithmProperties).toEqual({
      primitive: 'block-cipher',
      executionEnvironment: 'software-tee',
      certificationLevel: ['cc-eal4'],
      nistQuantumSecurityLevel: 1,
    });
  });

  it('names the algorithms of a certificate, which become assets', () => {
    const certificateProperties = {
      subjectName: 'CN=a',
      certificateAlgorithm: 'RSA-2048',
      certificateSignatureAlgorithm: 'SHA256withRSA',
    };
    const found = read(asset('a', { assetType: 'certificate', certificateProperties }));
    const targets = found.get('a')?.links.map(({ kind, to }) => [kind, to.trim().split(' ')[1]]);
    expect(targets).toEqual([
      ['signatureAlgorithm', 'SHA256withRSA'],
      ['subjectPublicKey', 'RSA-2048'],
    ]);
    expect([...found.keys()].sort()).toEqual(['RSA-2048', 'SHA256withRSA', 'a']);
  });

  it('may contain cipher suites and transforms as strings', () => {
    const tls = asset('TLS', {
      assetType: 'protocol',
      protocolProperties: { type: 'tls', tlsCipherSuites: ['TLS_AES_128_GCM_SHA256'] },
    });
    const ike = asset('IKE', {
      assetType: 'protocol',
      protocolProperties: {
        type: 'ike',
        ikev2TransformTypes: { transformType1: ['ENCR_AES_CBC'], transformType4: [14] },
      },
    });
    const found = read(tls, ike);
    expect(factsOf(found, 'TLS')?.protocolProperties?.['cipherSuites']).toEqual([{ name: 'TLS_AES_128_GCM_SHA256' }]);
    expect(found.get('IKE')?.links.map(({ to }) => to.trim().split(' ')[1])).toEqual(['ENCR_AES_CBC', 'DH-2048']);
  });
});

describe('a 1.6 document', () => {
  it('may contain URI templates as service endpoints', () => {
    const services = [
      { name: 'shop', endpoints: ['https://shop.example/orders/{id}'], services: [{ name: 'x', endpoints: ['/{}'] }] },
    ];
    const components = [{ type: 'cryptographic-asset', name: 'AES', cryptoProperties: { assetType: 'algorithm' } }];
    const bytes = Buffer.from(
      JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, services, components }),
    );
    const [found] = readBody(bytes, { kind: 'json', mode: 'strict', source: undefined, password: undefined });
    expect([...(found?.draft().assets(new DraftRefs()) ?? [])]).toHaveLength(1);
  });
});
