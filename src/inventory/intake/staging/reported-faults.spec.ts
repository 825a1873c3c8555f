import { describe, expect, it } from 'vitest';
import { Problem } from '../../../platform/errors/problem.js';
import type { RiskVerdict } from '../../model/risk-verdict.js';
import { readBody } from './body-reader.js';
import { DEFAULT_RULES } from '../../judgement/risk/default-rules.js';
import { RiskEngine } from '../../judgement/risk/risk-engine.js';
import type { IdentifiedAsset } from './asset-rows.js';
import { DocumentAssets } from './document-assets.js';
import { Judge } from './judge.js';

/*
 * Faults that users reported in other products that read or write CBOMs (cbomkit-theia, sonar-cryptography, cdxgen, Dependency-Track and others), with the
 * correct results.
 */

interface Judged extends IdentifiedAsset {
  readonly verdict: RiskVerdict | undefined;
}

const engine = new RiskEngine(DEFAULT_RULES);

function judged(components: readonly object[], more: object = {}): readonly Judged[] {
  const body = JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components, ...more });
  const order = { kind: 'json', mode: 'repair', source: undefined, password: undefined } as const;
  const [document] = readBody(Buffer.from(body), order);
  if (document === undefined) throw new Error('no document');
  const assets = new DocumentAssets(document.draft(), { id: '00000000-0000-8000-8000-000000000000', name: 'reported' });
  const judge = new Judge(assets.all(), engine);
  return assets.all().map((asset) => ({ ...asset, verdict: judge.judge(asset).verdict?.verdict }));
}

const algorithm = (name: string, algorithmProperties: object = {}, more: object = {}) => ({
  type: 'cryptographic-asset',
  'bom-ref': name,
  name,
  cryptoProperties: { assetType: 'algorithm', algorithmProperties, ...more },
});
const keyOf = (relatedCryptoMaterialProperties: object) => ({
  type: 'cryptographic-asset',
  'bom-ref': 'key',
  name: 'key',
  cryptoProperties: { assetType: 'related-crypto-material', relatedCryptoMaterialProperties },
});
const verdictOf = (name: string, properties: object = {}, more: object = {}) =>
  judged([algorithm(name, properties, more)])[0]?.verdict;

describe('errors in reports of other tools', () => {
  it('two certificates with one name and different signature algorithms remain separate', () => {
    const certificate = (ref: string, signature: string) => ({
      type: 'cryptographic-asset',
      'bom-ref': ref,
      name: 'Root',
      cryptoProperties: {
        assetType: 'certificate',
        certificateProperties: { subjectName: 'CN=Root', issuerName: 'CN=Root', signatureAlgorithmRef: signature },
      },
    });
    const signatures = ['SHA256withECDSA', 'SHA1withRSA'];
    const all = judged([
      ...signatures.map((name) => algorithm(name, { primitive: 'signature' })),
      ...signatures.map((name, index) => certificate(`c${index}`, name)),
    ]);
    const certificates = all.filter(({ kind }) => kind === 'certificate');
    expect(certificates.map(({ verdict }) => verdict?.family)).toEqual(['ECDSA', 'RSA']);
    expect(certificates.map(({ edges }) => edges.map(({ to }) => to.name))).toEqual([
      ['SHA256withECDSA'],
      ['SHA1withRSA'],
    ]);
  });

  it('a signature algorithm includes its hash: SHA1withRSA is both', () => {
    const rules = verdictOf('SHA1withRSA', { primitive: 'signature' })?.findings.map(({ rule }) => rule);
    expect(rules).toEqual(expect.arrayContaining(['D-SHA1-SIG', 'Q-RSA-SIG-NOSIZE']));
  });

  it.each([
    ['1.2.840.113549.1.5.1', 'DES'],
    ['1.2.840.113549.1.5.3', 'DES'],
    ['1.2.840.113549.1.5.4', 'RC2'],
    ['1.2.840.113549.1.5.10', 'DES'],
    ['1.2.840.113549.1.12.1.2', 'RC4'],
    ['1.2.840.113549.1.12.1.3', '3DES'],
    ['1.2.840.113549.1.12.1.6', 'RC2'],
  ])('the password scheme %s encrypts with %s, which is weak', (oid, family) => {
    expect(verdictOf(oid)).toMatchObject({ family, level: expect.stringMatching(/HIGH|CRITICAL/) });
  });

  it('the second number in SHA-512/224 is the size', () => {
    expect(verdictOf('SHA-512/224')).toMatchObject({ family: 'SHA-2', bits: 224, rule: 'D-224' });
  });

  it('an OID next to an equivalent name changes nothing', () => {
    const facts = (verdict: RiskVerdict | undefined) => [verdict?.family, verdict?.bits, verdict?.level, verdict?.rule];
    expect(facts(verdictOf('SHA-1', {}, { oid: '1.3.14.3.2.26' }))).toEqual(facts(verdictOf('SHA-1')));
  });

  it.each(['SHA-3-512', 'SHA3-512', 'sha3_512'])('%s is read as SHA-3', (name) => {
    expect(verdictOf(name)).toMatchObject({ family: 'SHA-3', bits: 512, level: 'NONE' });
  });

  it.each([
    ['ANSI-KDF', 'ANSI-KDF', 'NONE'],
    ['SP800-56C', 'KDF', 'NONE'],
    ['SSH-KDF', 'SSHKDF', 'NONE'],
    ['TLS-PRF', 'TLS-PRF', 'NONE'],
    ['RSA-X931', 'RSA', 'MEDIUM'],
    ['BLS12-381', 'BLS', 'MEDIUM'],
  ])('%s is read as a family although the CycloneDX enumeration omits or misspells it', (name, family, level) => {
    expect(verdictOf(name)).toMatchObject({ family, level });
  });

  it.each([
    ['RSA KeyGen', 'RSA'],
    ['ECDSA KeyGen', 'ECDSA'],
    ['ECDH KeyGen', 'ECDH'],
    ['Safe Primes Key Generation', 'DH'],
    ['KAS-FFC-SSC', 'DH'],
    ['KAS-ECC', 'ECDH'],
    ['KTS-IFC', 'RSA'],
  ])('%s, a validation program term for key generation or agreement, is %s', (name, family) => {
    expect(verdictOf(name)).toMatchObject({ family, quantum: { status: 'quantum-vulnerable' } });
  });

  it('the key size applies if the algorithm states none', () => {
    const facts = { type: 'public-key', id: '1', size: 1024, algorithmRef: 'RSA' };
    const key = {
      type: 'cryptographic-asset',
      'bom-ref': 'key',
      name: 'key',
      cryptoProperties: { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: facts },
    };
    const all = judged([algorithm('RSA'), key]);
    expect(all.find(({ name }) => name === 'key')?.verdict).toMatchObject({ level: 'CRITICAL', bits: 1024 });
  });

  it('a key listed with its size has that size, even if its algorithm states none (cc-utils 1708)', () => {
    const facts = { type: 'public-key', id: '1', size: 2048, algorithmRef: 'RSA' };
    const all = judged([algorithm('RSA'), keyOf(facts)]);
    expect(all.find(({ name }) => name === 'key')?.verdict).toMatchObject({ level: 'HIGH', bits: 2048 });
  });

  it('an RSA key certified by an ECDSA key is an RSA key (testssl.sh 1310)', () => {
    const certificate = {
      type: 'cryptographic-asset',
      'bom-ref': 'certificate',
      name: 'server',
      cryptoProperties: {
        assetType: 'certificate',
        certificateProperties: {
          subjectName: 'CN=server',
          issuerName: 'CN=issuer',
          signatureAlgorithmRef: 'SHA256withECDSA',
          subjectPublicKeyRef: 'key',
        },
      },
    };
    const key = keyOf({ type: 'public-key', id: '1', size: 3072, algorithmRef: 'RSA' });
    const all = judged([algorithm('SHA256withECDSA'), algorithm('RSA'), key, certificate]);
    expect(all.find(({ kind }) => kind === 'certificate')?.verdict).toMatchObject({ family: 'RSA', bits: 3072 });
  });

  it('a DNSSEC key signs with the hash of its algorithm: an RSASHA1 zone KSK makes SHA-1 signatures', () => {
    const levelOf = (name: string) =>
      judged([algorithm(name), keyOf({ type: 'public-key', id: '1', size: 2048, algorithmRef: name })]).find(
        ({ kind }) => kind === 'related-crypto-material',
      )?.verdict?.level;
    expect(levelOf('RSASHA1')).toBe('HIGH');
    expect(levelOf('DNSSEC algorithm 1')).toBe('CRITICAL');
    expect(levelOf('RSASHA256')).toBe('MEDIUM');
    // A key in SSH or in a certificate may also sign with other hashes.
    expect(levelOf('SHA1withRSA')).toBe('MEDIUM');
  });

  it('an asset described only in the metadata, or typed as a library, is included', () => {
    const reported = judged([{ ...algorithm('DES-CBC'), type: 'library' }], {
      metadata: { component: algorithm('RC4') },
    });
    expect(Object.fromEntries(reported.map(({ name, verdict }) => [name, verdict?.level]))).toEqual({
      'DES-CBC': 'CRITICAL',
      RC4: 'CRITICAL',
    });
  });

  it('components that a library provides need not be listed as dependencies', () => {
    const library = { type: 'library', 'bom-ref': 'library', name: 'library' };
    const all = judged([algorithm('AES-128'), library], { dependencies: [{ ref: 'library', provides: ['AES-128'] }] });
    const edges = all.find(({ name }) => name === 'library')?.edges;
    expect(edges?.map(({ kind, to }) => [kind, to.name])).toEqual([['provides', 'AES-128']]);
  });

  it('cryptographic assets in a spec version without them are rejected with the pointer of the first', () => {
    const send = () => judged([algorithm('RSA-2048')], { specVersion: '1.5' });
    expect(send).toThrow(Problem);
    expect(send).toThrow('/components/0/type');
  });

  it('an elliptic curve is recognized in the parameter set, where some tools put it', () => {
    expect(verdictOf('ECDSA', { parameterSetIdentifier: 'secp192r1' })).toMatchObject({ level: 'CRITICAL', bits: 192 });
  });
});

/** Reports about other products, with issue numbers and the correct results. */
const REPORTS: readonly (readonly [report: string, name: string, properties: object, right: object])[] = [
  ['sslscan 365', 'TLS_RSA_WITH_AES_128_CCM_8', {}, { level: 'HIGH', family: 'RSA' }],
  ['ssh-audit 149', 'webauthn-sk-ecdsa-sha2-nistp256@openssh.com', {}, { family: 'ECDSA', bits: 256 }],
  ['ssh-audit 321', 'aes256-gcm@openssh.com', { primitive: 'mac' }, { level: 'NONE', family: 'AES', bits: 256 }],
  ['ssh-audit 270', 'kex-strict-s-v00@openssh.com', {}, { quantum: { status: 'not-applicable' } }],
  ['ssllabs-scan 435', 'ECDH x25519 (eq. 3072 bits RSA)', {}, { family: 'XDH', rule: 'Q-ECDH-128' }],
  ['ssllabs-scan 435', 'DH 2048 bits', { primitive: 'key-agree' }, { family: 'DH', bits: 2048 }],
  ['tracker 2838', 'prime256v1', { primitive: 'key-agree' }, { rule: 'Q-EC-KE-128' }],
  ['testssl.sh 3116', 'MLKEM1024', { primitive: 'kem' }, { family: 'ML-KEM', bits: 1024, level: 'NONE' }],
  ['gosec 1162', 'golang.org/x/crypto/md4', {}, { level: 'HIGH', family: 'MD4' }],
  ['SecuritySkills 2023', 'MD5', { primitive: 'mac' }, { level: 'HIGH' }],
  ['SecuritySkills 2023', 'HMAC-MD5', { primitive: 'mac' }, { level: 'MEDIUM' }],
  ['sonar-cryptography 296', 'PBKDF2-HMAC-SHA1', { primitive: 'kdf' }, { level: 'LOW', family: 'PBKDF2' }],
  ['cbomkit 331', 'AES', { parameterSetIdentifier: '64' }, { rule: 'S-AES-ODD' }],
  ['liboqs 1753', 'Kyber768-90s', { primitive: 'kem' }, { level: 'MEDIUM', family: 'Kyber' }],
  ['cbomkit-theia 220', 'ML-KEM-768', { nistQuantumSecurityLevel: 0 }, { level: 'NONE', family: 'ML-KEM' }],
  ['sonar-cryptography 294', 'AES128', { parameterSetIdentifier: '256' }, { level: 'LOW', family: 'AES' }],
  ['semgrep-rules 3815', 'DESede/CBC/PKCS5Padding', {}, { level: 'HIGH', family: '3DES' }],
  ['DevSkim 645', 'description', {}, { level: 'LOW', family: null }],
  ['semgrep 11610', 'FontDescriptor', {}, { level: 'LOW', family: null }],
  ['sbomify 1161', 'AES', { parameterSetIdentifier: '256' }, { level: 'NONE', bits: 256 }],
  ['testssl.sh 645', 'EXP1024-DES-CBC-SHA', {}, { level: 'CRITICAL', quantum: { status: 'quantum-vulnerable' } }],
  ['testssl.sh 660', 'RC4-MD5', {}, { level: 'CRITICAL' }],
  ['Nettacker 1719', 'TLS_AES_128_GCM_SHA256', {}, { level: 'LOW', family: 'AES' }],
  ['semgrep-rules 3541', "hash('sha1', data)", {}, { level: 'MEDIUM', family: 'SHA-1' }],
  ['bearer-rules 414', 'zlib.adler32', {}, { level: 'LOW', classical: { status: 'no-security' } }],
  ['openssl 25288', '1.3.6.1.4.1.3029.1.2', {}, { level: 'HIGH', family: 'Blowfish' }],
  ['pycryptodome 352', '1.2.840.113549.2.11', {}, { level: 'NONE', family: 'HMAC' }],
  ['openssl 3713', '1.3.6.1.5.5.8.1.1', {}, { level: 'MEDIUM', family: 'HMAC' }],
  ['nmap 2273', 'TLS_RSA_WITH_AES_128_CBC_SHA', {}, { level: 'HIGH', family: 'RSA' }],
  ['nmap 2705', 'TLS_DHE_RSA_WITH_AES_256_CBC_SHA (dh 1024)', {}, { level: 'CRITICAL', family: 'DH', bits: 1024 }],
  ['ssh-audit 318', 'mlkem1024nistp384-sha384', { primitive: 'kem' }, { level: 'NONE' }],
  ['ssh-audit 328', 'sntrup761x25519-sha512', { primitive: 'kem' }, { level: 'LOW' }],
  ['sslscan 331', 'MLKEM768', { primitive: 'kem' }, { level: 'NONE', family: 'ML-KEM' }],
  ['pycryptodome 910', 'HPKE DHKEM(P-256, HKDF-SHA256)', {}, { level: 'HIGH' }],
  ['cbomkit-theia 220', 'RSA-2048', { nistQuantumSecurityLevel: 5 }, { quantum: { status: 'quantum-vulnerable' } }],
];

it.each(REPORTS)('%s: %s %j', (_, name, properties, right) => {
  expect(verdictOf(name, properties)).toMatchObject(right);
});
