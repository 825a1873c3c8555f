import { describe, expect, it } from 'vitest';
import type { CdxComponent } from '../../model/document.js';
import { AssetGraph, type GraphAsset, type GraphEdge } from './asset-graph.js';
import { traitsOf } from './asset-traits.js';
import { DEFAULT_RULES } from './default-rules.js';
import { RiskEngine } from './risk-engine.js';
import { lifecycleAt } from './lifecycle.js';
import { SubjectReader } from './subject-reader.js';

const engine = new RiskEngine(DEFAULT_RULES);

function judge(
  kind: 'algorithm' | 'protocol' | 'certificate',
  cryptoProperties: object,
  name: string,
  properties: object[] = [],
) {
  const component = { type: 'cryptographic-asset', name, cryptoProperties, properties } as CdxComponent;
  const asset = { id: 'a', kind, name, traits: traitsOf(kind, component), edges: [] };
  const graph = new AssetGraph([asset]);
  return engine.judge(new SubjectReader(graph).read(asset).subject);
}

const algorithm = (name: string, algorithmProperties: object = {}) =>
  judge('algorithm', { assetType: 'algorithm', algorithmProperties }, name);
const protocol = (type: string, version: string | undefined, suites: string[] = []) =>
  judge(
    'protocol',
    { assetType: 'protocol', protocolProperties: { type, version, cipherSuites: suites.map((name) => ({ name })) } },
    type,
  );

describe('the stored facts of a protocol', () => {
  const subject = (version: string, suites: string[] = []) => {
    const cryptoProperties = {
      protocolProperties: { type: 'tls', version, cipherSuites: suites.map((name) => ({ name })) },
    };
    const component = {
      type: 'cryptographic-asset',
      name: 'TLS',
      cryptoProperties: { assetType: 'protocol', ...cryptoProperties },
    };
    const asset = {
      id: 'a',
      kind: 'protocol',
      name: 'TLS',
      traits: traitsOf('protocol', component),
      edges: [],
    } as const;
    return JSON.stringify(new SubjectReader(new AssetGraph([asset])).read(asset).subject);
  };

  it('are equal for all versions without a rule', () => {
    expect(subject('7.1')).toBe(subject('91.44'));
    expect(subject('1.2')).not.toBe(subject('1.3'));
  });

  it('do not grow with cipher suite names', () => {
    expect(subject('1.2', ['x'.repeat(1_000_000)]).length).toBeLessThan(1000);
  });
});

describe('an algorithm verdict by name and properties', () => {
  it.each([
    ['RSA-1024', {}, 'CRITICAL', 'Q-RSA-ANY-LT2048'],
    ['RSA-2048', {}, 'HIGH', 'Q-RSA-ANY-112'],
    ['RSA-3072', {}, 'HIGH', 'Q-RSA-ANY-128'],
    ['SHA256withRSA', {}, 'MEDIUM', 'Q-RSA-SIG-NOSIZE'],
    ['SHA512withRSA', { parameterSetIdentifier: '512' }, 'MEDIUM', 'Q-RSA-SIG-NOSIZE'],
    ['SHA1withRSA', { parameterSetIdentifier: '2048' }, 'HIGH', 'D-SHA1-SIG'],
    [
      'RSA/ECB/OAEPWithSHA-256AndMGF1Padding',
      { primitive: 'pke', parameterSetIdentifier: '2048' },
      'HIGH',
      'Q-RSA-KE-112',
    ],
    ['EC-secp256r1', { primitive: 'pke' }, 'HIGH', 'Q-EC-KE-128'],
    ['EC-secp192r1', {}, 'CRITICAL', 'C-EC-LT224'],
    ['ECDSA', { curve: 'secp224r1' }, 'MEDIUM', 'Q-ECDSA-112'],
    ['Ed25519', {}, 'MEDIUM', 'Q-ECDSA-128'],
    ['X25519', {}, 'HIGH', 'Q-ECDH-128'],
    ['X25519MLKEM768', {}, 'NONE', 'H-HYBRID-STD'],
    ['DH', { parameterSetIdentifier: '4096' }, 'HIGH', 'Q-FFDH-128'],
    ['DSA', { parameterSetIdentifier: '1024' }, 'CRITICAL', 'C-DSA-LT2048'],
    ['ML-DSA-65', {}, 'NONE', 'P-MLDSA-65'],
    ['SLH-DSA-SHA2-128s', {}, 'NONE', 'P-SLHDSA'],
    ['id-MLDSA65-ECDSA-P256-SHA512', {}, 'LOW', 'H-HYBRID-SIG'],
    ['AES/CBC/PKCS5Padding', { parameterSetIdentifier: '256' }, 'LOW', 'S-CBC'],
    ['AES-128-ECB', {}, 'HIGH', 'S-ECB'],
    ['DESede', {}, 'HIGH', 'S-3DES'],
    ['DES56-CBC-PKCS5', {}, 'CRITICAL', 'S-DES'],
    ['PBEWithMD5AndDES', {}, 'CRITICAL', 'S-DES'],
    ['SHA384', { primitive: 'hash' }, 'NONE', 'D-384'],
    ['SHA3-256', { primitive: 'hash' }, 'NONE', 'D-256'],
    ['SHAKE128', { primitive: 'xof' }, 'NONE', 'D-SHAKE128'],
    ['HmacSHA1', { primitive: 'mac' }, 'LOW', 'D-HMAC-SHA1'],
    ['BLAKE2b-160', { primitive: 'hash' }, 'MEDIUM', 'D-SHORT-BLAKE'],
    ['SHA1PRNG', { primitive: 'drbg' }, 'MEDIUM', 'D-SHA1PRNG'],
    ['JKS', {}, 'MEDIUM', 'K-KEYSTORE-LEGACY'],
    ['RAW', { primitive: 'other' }, 'LOW', 'Z-UNKNOWN-ALG'],
  ])('rates %s %o as %s by %s', (name, properties, level, rule) => {
    expect(algorithm(name, properties)).toMatchObject({ level, rule });
  });

  it('rates a short curve on both axes', () => {
    expect(algorithm('ECDSA', { curve: 'secp192r1' })).toMatchObject({
      quantum: { status: 'quantum-vulnerable' },
      classical: { status: 'disallowed' },
    });
  });

  it.each([
    ['RSA-2048', 3],
    ['AES-256', 1],
    ['ML-KEM-768', 0],
  ])('does not accept the claim that %s has NIST level %i', (name, nistQuantumSecurityLevel) => {
    const rules = algorithm(name, { nistQuantumSecurityLevel }).findings.map(({ rule }) => rule);
    expect(rules).toContain('Z-LEVEL-CONFLICT');
  });

  it('applies the 2030 deprecation to the 112-bit class only', () => {
    const deprecated = (name: string) =>
      algorithm(name).findings.some(({ deadlines }) => deadlines.some(({ state }) => state === 'deprecated'));
    expect(['RSA-2048', 'RSA-3072', 'RSA-4096'].map(deprecated)).toEqual([true, false, false]);
  });
});

describe('a protocol verdict', () => {
  it.each([
    ['tls', 'SSLv3', [], 'CRITICAL', 'T-SSL'],
    ['tls', '1.0', [], 'HIGH', 'T-TLS-1.0-1.1'],
    ['dtls', '1.0', [], 'HIGH', 'T-TLS-1.0-1.1'],
    ['tls', '1.2', [], 'HIGH', 'T-TLS-KEX-CLASSICAL'],
    ['tls', '1.3', ['TLS_AES_256_GCM_SHA384'], 'LOW', 'T-TLS13-KEX-UNDECLARED'],
    ['tls', '1.2', ['TLS_PSK_WITH_AES_256_GCM_SHA384'], 'LOW', 'T-TLS-1.2'],
    ['tls', '1.2', ['TLS_DHE_PSK_WITH_AES_256_GCM_SHA384'], 'HIGH', 'T-TLS-KEX-CLASSICAL'],
    ['tls', '1.9', [], 'LOW', 'Z-UNKNOWN-ALG'],
    ['quic', '1', [], 'LOW', 'T-QUIC-KEX-UNDECLARED'],
    ['tls', '1.2', ['TLS_RSA_WITH_3DES_EDE_CBC_SHA'], 'HIGH', 'T-SUITE-3DES'],
    ['tls', '1.2', ['NULL-SHA'], 'CRITICAL', 'T-SUITE-NULL-EXPORT'],
    ['tls', '1.2', ['RC4-SHA'], 'CRITICAL', 'T-SUITE-RC4-DES'],
    ['tls', undefined, [], 'LOW', 'T-TLS-NOVERSION'],
    ['ssh', '2', ['diffie-hellman-group15-sha512'], 'HIGH', 'T-SSH-KEX-CLASSICAL'],
    ['ssh', '2', ['ecdh-sha2-1.3.132.0.10'], 'HIGH', 'T-SSH-CLASSICAL'],
    ['ssh', '2', ['mlkem768x25519-sha256'], 'NONE', 'T-SSH-2'],
    ['ssh', '2', ['mlkem768x25519-sha256', 'arcfour'], 'CRITICAL', 'S-RC4'],
    ['ssh', '1.0', [], 'CRITICAL', 'T-SSH-1'],
    ['ike', '1.0', [], 'HIGH', 'T-IKE1'],
    ['ipsec', 'IKEv1', [], 'HIGH', 'T-IKE1'],
    ['ike', '2.0', [], 'LOW', 'T-KEX-UNDECLARED'],
    ['quic', '1.0', [], 'LOW', 'T-QUIC-KEX-UNDECLARED'],
    ['wpa', 'WEP', [], 'HIGH', 'T-WPA-OLD'],
    ['wpa', '2', [], 'LOW', 'T-WPA2'],
    ['wpa', '3', [], 'HIGH', 'T-WPA3-KEX-CLASSICAL'],
    ['wpa', undefined, [], 'LOW', 'T-WPA-NOVERSION'],
  ])('rates %s %s %o as %s by %s', (type, version, suites, level, rule) => {
    expect(protocol(type, version, suites)).toMatchObject({ level, rule });
  });

  const groups = (...tlsGroups: string[]) =>
    judge(
      'protocol',
      {
        assetType: 'protocol',
        protocolProperties: {
          type: 'tls',
          version: '1.3',
          cipherSuites: [{ name: 'TLS_AES_256_GCM_SHA384', tlsGroups }],
        },
      },
      'TLS',
    );

  it.each([
    [['x25519', 'secp256r1'], 'HIGH', 'T-TLS13-KEX-CLASSICAL'],
    [['X25519MLKEM768'], 'NONE', 'T-TLS-1.3'],
    [['MLKEM1024'], 'NONE', 'T-TLS-1.3'],
    [['x25519', 'X25519MLKEM768'], 'LOW', 'T-KEX-MIXED'],
  ])('rates TLS 1.3 with the groups %j as %s by %s', (names, level, rule) => {
    expect(groups(...names)).toMatchObject({ level, rule });
  });

  it('reads a type that only CycloneDX 1.7 has from where version 1.6 keeps it', () => {
    const facts = { assetType: 'protocol', protocolProperties: { type: 'other', version: '1.0' } };
    const kept = { name: 'sealwright:cyclonedx:cryptoProperties.protocolProperties.type', value: '"dtls"' };
    expect(judge('protocol', facts, 'media', [kept])).toMatchObject({ level: 'HIGH', rule: 'T-TLS-1.0-1.1' });
  });

  it.each([
    ['ike', '2', 'IKEv2 group31', 'HIGH'],
    ['ike', '2', 'IKEv2 with ML-KEM', 'LOW'],
    ['tls', '1.3', 'TLS 1.3 (X25519MLKEM768)', 'NONE'],
    ['tls', '1.3', 'TLS 1.3 of the host x448', 'LOW'],
  ])(
    'reads the key exchange of %s %s from its name if nothing else states it: %s is %s',
    (type, version, name, level) => {
      const facts = { assetType: 'protocol', protocolProperties: { type, version } };
      expect(judge('protocol', facts, name).level).toBe(level);
    },
  );

  it('recognizes WireGuard by name', () => {
    const facts = { assetType: 'protocol', protocolProperties: { type: 'other' } };
    expect(judge('protocol', facts, 'WireGuard').level).toBe('HIGH');
  });

  it.each(['DES-CBC3-SHA', 'TLS_RSA_WITH_3DES_EDE_CBC_SHA'])('treats %s as a 3DES suite', (suite) => {
    expect(protocol('tls', '1.2', [suite]).findings.map(({ rule }) => rule)).toContain('T-SUITE-3DES');
  });

  it.each(['AES128-SHA', 'TLS_ECDH_RSA_WITH_AES_128_CBC_SHA'])('treats %s as a static key exchange', (suite) => {
    expect(protocol('tls', '1.2', [suite]).findings.map(({ rule }) => rule)).toContain('T-SUITE-STATIC-RSA');
  });
});

describe('the lifecycle rule', () => {
  const certificate = {
    kind: 'certificate',
    component: {},
    notBefore: new Date('2026-01-01'),
    notAfter: new Date('2026-06-01'),
  } as const;
  it.each([
    ['2025-12-31', 'X-NOTYET'],
    ['2026-02-01', null],
    ['2026-05-10', 'X-EXPIRING-30'],
    ['2026-05-28', 'X-EXPIRING-7'],
    ['2026-06-02', 'X-EXPIRED'],
  ])('as of %s: %s', (day, rule) => {
    expect(lifecycleAt(certificate, new Date(day), DEFAULT_RULES).rule).toBe(rule);
  });
});

describe('the rules', () => {
  it('have a unique ID, a source and a level', () => {
    const ids = DEFAULT_RULES.rules.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(DEFAULT_RULES.rules.filter(({ standards, reason }) => standards.length === 0 || reason === '')).toEqual([]);
  });
});

describe('a private key that depends on a public key', () => {
  const keyAsset = (id: string, name: string, edges: GraphEdge[]): GraphAsset => {
    const relatedCryptoMaterialProperties = { type: id === 'private' ? 'private-key' : 'public-key' };
    const cryptoProperties = { assetType: 'related-crypto-material', relatedCryptoMaterialProperties };
    const component = { type: 'cryptographic-asset', name, cryptoProperties } as CdxComponent;
    const kind = 'related-crypto-material' as const;
    return { id, kind, name, traits: traitsOf(kind, component), edges };
  };
  const rsa = (name: string): GraphAsset => {
    const cryptoProperties = { assetType: 'algorithm', algorithmProperties: {} };
    const component = { type: 'cryptographic-asset', name, cryptoProperties } as CdxComponent;
    return { id: 'rsa', kind: 'algorithm', name, traits: traitsOf('algorithm', component), edges: [] };
  };

  it.each(['SHA256:ZAw+326mxLwYJQdS1Jp8Q1d0m9bX7cVn2kq5rT8uWxY', 'ML-KEM-1024'])(
    'is rated by the algorithm of the public key, whatever the name of that key (%s)',
    (name) => {
      const algorithmAsset = rsa('RSA-1024');
      const publicKey = keyAsset('public', name, [{ kind: 'algorithm', to: algorithmAsset }]);
      const privateKey = keyAsset('private', 'ssh-rsa private key /p', [{ kind: 'dependsOn', to: publicKey }]);
      const graph = new AssetGraph([privateKey, publicKey, algorithmAsset]);
      expect(engine.judge(new SubjectReader(graph).read(privateKey).subject).level).toBe('CRITICAL');
    },
  );

  it('is not rated by a fingerprint, which is not a hash algorithm', () => {
    const publicKey = keyAsset('public', 'SHA256:ZAw+326mxLwYJQdS1Jp8Q1d0m9bX7cVn2kq5rT8uWxY', []);
    const privateKey = keyAsset('private', 'private key /p', [{ kind: 'dependsOn', to: publicKey }]);
    const { rule } = engine.judge(new SubjectReader(new AssetGraph([privateKey, publicKey])).read(privateKey).subject);
    expect(rule).not.toBe('D-256');
  });
});
