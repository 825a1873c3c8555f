import { describe, expect, it } from 'vitest';
import { Problem } from '../../platform/errors/problem.js';
import type { RiskVerdict } from '../model/risk-verdict.js';
import { readBody } from '../readers/body-reader.js';
import { DEFAULT_RULES } from '../risk/default-rules.js';
import { RiskEngine } from '../risk/risk-engine.js';
import type { IdentifiedAsset } from './asset-rows.js';
import { DocumentAssets } from './document-assets.js';
import { Judge } from './judge.js';

/*
 * What users of other products that write and read CBOMs have reported as wrong (cbomkit-theia, sonar-cryptography, cdxgen, Dependency-Track and
 * others), and what is right.
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
const verdictOf = (name: string, properties: object = {}, more: object = {}) =>
  judged([algorithm(name, properties, more)])[0]?.verdict;

describe('what others got wrong', () => {
  it('two certificates of one name that were signed by different algorithms are two, each with its own', () => {
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

  it('a signature is more than its hash: SHA1withRSA is both', () => {
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
  ])('the password scheme %s encrypts by %s, which is weak', (oid, family) => {
    expect(verdictOf(oid)).toMatchObject({ family, level: expect.stringMatching(/HIGH|CRITICAL/) });
  });

  it('of the two numbers in SHA-512/224 the second is the size', () => {
    expect(verdictOf('SHA-512/224')).toMatchObject({ family: 'SHA-2', bits: 224, rule: 'D-224' });
  });

  it('an OID beside a name that says the same changes nothing', () => {
    const facts = (verdict: RiskVerdict | undefined) => [verdict?.family, verdict?.bits, verdict?.level, verdict?.rule];
    expect(facts(verdictOf('SHA-1', {}, { oid: '1.3.14.3.2.26' }))).toEqual(facts(verdictOf('SHA-1')));
  });

  it.each(['SHA-3-512', 'SHA3-512', 'sha3_512'])('%s is SHA-3', (name) => {
    expect(verdictOf(name)).toMatchObject({ family: 'SHA-3', bits: 512, level: 'NONE' });
  });

  it.each([
    ['ANSI-KDF', 'KDF', 'NONE'],
    ['SP800-56C', 'KDF', 'NONE'],
    ['SSH-KDF', 'KDF', 'NONE'],
    ['TLS-PRF', 'KDF', 'NONE'],
    ['RSA-X931', 'RSA', 'MEDIUM'],
    ['BLS12-381', 'BLS', 'MEDIUM'],
  ])('%s is a family although the enumeration of CycloneDX left it out or misspelt it', (name, family, level) => {
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
  ])('%s, as validation programs name the generation and agreement of keys, is %s', (name, family) => {
    expect(verdictOf(name)).toMatchObject({ family, quantum: { status: 'quantum-vulnerable' } });
  });

  it('the size of a key counts where its algorithm says none', () => {
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

  it('an asset that only the metadata describe, or that calls itself a library, is one', () => {
    const reported = judged([{ ...algorithm('DES-CBC'), type: 'library' }], {
      metadata: { component: algorithm('RC4') },
    });
    expect(Object.fromEntries(reported.map(({ name, verdict }) => [name, verdict?.level]))).toEqual({
      'DES-CBC': 'CRITICAL',
      RC4: 'CRITICAL',
    });
  });

  it('what a library provides need not be listed among the dependencies', () => {
    const library = { type: 'library', 'bom-ref': 'library', name: 'library' };
    const all = judged([algorithm('AES-128'), library], { dependencies: [{ ref: 'library', provides: ['AES-128'] }] });
    const edges = all.find(({ name }) => name === 'library')?.edges;
    expect(edges?.map(({ kind, to }) => [kind, to.name])).toEqual([['provides', 'AES-128']]);
  });

  it('assets in a document of a version that has none are refused with the place of the first', () => {
    const send = () => judged([algorithm('RSA-2048')], { specVersion: '1.5' });
    expect(send).toThrow(Problem);
    expect(send).toThrow('/components/0/type');
  });

  it('an elliptic curve is read as well where a writer put it into the parameter set', () => {
    expect(verdictOf('ECDSA', { parameterSetIdentifier: 'secp192r1' })).toMatchObject({ level: 'CRITICAL', bits: 192 });
  });
});
