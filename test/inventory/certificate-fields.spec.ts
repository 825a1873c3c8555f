import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readX509Certificate } from '../../src/inventory/intake/key-files/x509-certificate.js';
import { DocumentAssets } from '../../src/inventory/intake/staging/document-assets.js';
import { Judge } from '../../src/inventory/intake/staging/judge.js';
import { readBody } from '../../src/inventory/intake/staging/body-reader.js';
import { DEFAULT_RULES } from '../../src/inventory/judgement/risk/default-rules.js';
import { RiskEngine } from '../../src/inventory/judgement/risk/risk-engine.js';
import { corpusFile, hasCorpus } from './corpus.js';

const folder = mkdtempSync(join(tmpdir(), 'sealwright-certificates-'));
afterAll(() => rmSync(folder, { recursive: true }));

const openssl = (...args: string[]) =>
  execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });

/** Generates a key and a certificate with OpenSSL. */
function certificate(key: string[], more: string[] = []): Buffer {
  openssl('genpkey', ...key, '-out', 'key.pem');
  openssl(
    'req',
    '-x509',
    '-new',
    '-key',
    'key.pem',
    '-subj',
    '/CN=a',
    '-days',
    '30',
    ...more,
    '-outform',
    'DER',
    '-out',
    'a.der',
  );
  return readFileSync(join(folder, 'a.der'));
}

/** The curves that OpenSSL lists, with their field sizes, except for the two curves without an object identifier. */
const CURVES = openssl('ecparam', '-list_curves')
  .toString()
  .replaceAll(/:\s*\n\s+/g, ': ')
  .split('\n')
  .flatMap((line) => {
    const [, name, bits] = /^\s*([\w-]+)\s*:.*?(\d+) bit/.exec(line) ?? [];
    return name === undefined || name.startsWith('Oakley') ? [] : [[name, Number(bits)] as const];
  });

describe('OpenSSL certificates', () => {
  it('are read on every supported curve, with the bits of the field', () => {
    expect(CURVES.length).toBeGreaterThan(75);
    const read = CURVES.map(([name, bits]) => {
      const der = certificate([
        '-algorithm',
        'EC',
        '-pkeyopt',
        `ec_paramgen_curve:${name}`,
        '-pkeyopt',
        'ec_param_enc:named_curve',
      ]);
      const { curve, bits: found } = readX509Certificate(der).key;
      return { name, bits, found, isNamed: curve !== null && !/^\d/.test(curve) };
    });
    expect(read.filter(({ bits, found, isNamed }) => bits !== found || !isNamed)).toEqual([]);
  });

  it('report the hash of RSASSA-PSS, including the SHA-1 default', () => {
    const pss = (hash: string) => {
      const options = ['-sigopt', 'rsa_padding_mode:pss', `-${hash}`];
      return readX509Certificate(certificate(['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'], options))
        .signature.name;
    };
    expect(['sha1', 'sha256', 'sha384', 'sha512'].map(pss)).toEqual([
      'RSASSA-PSS-SHA1',
      'RSASSA-PSS-SHA256',
      'RSASSA-PSS-SHA384',
      'RSASSA-PSS-SHA512',
    ]);
  });

  it('report signatures with SHA-3 hashes', () => {
    const der = certificate(['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'], ['-sha3-256']);
    expect(readX509Certificate(der).signature.name).toMatch(/SHA3-256.*RSA/);
  });

  it.each([
    ['keyEncipherment', 'HIGH'],
    ['dataEncipherment', 'HIGH'],
    ['digitalSignature', 'MEDIUM'],
  ])('with an RSA key for %s are rated %s', (usage, level) => {
    const extension = ['-addext', `keyUsage=critical,${usage}`, '-addext', 'basicConstraints=CA:FALSE'];
    const der = certificate(['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:3072'], extension);
    expect(readX509Certificate(der).keyUsages).toEqual([usage]);
    expect(verdictsOf(der).filter(({ kind }) => kind === 'certificate')).toMatchObject([{ level }]);
  });
});

/** Returns the verdicts of the assets in a body, with the algorithm family of each asset's public key. */
function verdictsOf(bytes: Buffer) {
  const [read] = readBody(bytes, { kind: 'any', mode: 'repair', source: 'test', password: undefined });
  if (read === undefined) return [];
  const assets = new DocumentAssets(read.draft(), { id: '00000000-0000-8000-8000-000000000000', name: 'test' });
  const judge = new Judge(assets.all(), new RiskEngine(DEFAULT_RULES));
  return assets.all().map((asset) => {
    const key = asset.edges.find(({ kind }) => kind === 'subjectPublicKey')?.to;
    const { level, family } = judge.judge(asset).verdict?.verdict ?? {};
    return {
      kind: asset.kind,
      level,
      family,
      ofKey: key === undefined ? undefined : judge.judge(key).verdict?.verdict.family,
    };
  });
}

describe.skipIf(!hasCorpus)('public certificates', () => {
  it('are listed with the family of their own key', () => {
    const truth = JSON.parse(corpusFile('certs/openssl-ground-truth.json').toString()) as { file: string }[];
    const certificates = truth
      .flatMap(({ file }) => verdictsOf(corpusFile(join('certs', file))))
      .filter(({ kind }) => kind === 'certificate');
    expect(certificates.length).toBeGreaterThan(600);
    expect(certificates.filter(({ family, ofKey }) => family !== ofKey)).toEqual([]);
  });
});
