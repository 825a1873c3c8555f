import { createHash, createPublicKey } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { compactVerify, importSPKI } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requireApproval, waitingRequest } from './openpgp-keys.js';
import { vote } from '../approvals/approvers.js';
import { type CertifiedStage, openCertifiedStage } from '../support/certified-stage.js';
import { createKey, publishedKey, type PublishedKey } from '../support/signing.js';
import { signaturesFound } from '../support/dsse.js';
import { type EndedProgram, sealwright as run } from './program.js';

const SKEWED_CLOCK = join(import.meta.dirname, '../fakes/skewed-clock.mjs');

let certified: CertifiedStage;
let home: string;

beforeAll(async () => {
  certified = await openCertifiedStage(['rsa-3072', 'ec-p256', 'ec-p384']);
  home = mkdtempSync(join(tmpdir(), 'sealwright-attest-'));
});
afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await certified.close();
});

const at = (name: string): string => join(home, name);

function sealwright(args: string[], input = '', more: Record<string, string> = {}): Promise<EndedProgram> {
  return run(args, {
    input,
    env: { HOME: home, SEALWRIGHT_URL: certified.service.url, SEALWRIGHT_TOKEN: certified.apiKey, ...more },
  });
}

/** Verifies a bundle with Sigstore's own code. Throws if the bundle is invalid. */
function verify(bundle: string, { publicKey }: PublishedKey): void {
  const key = createPublicKey(publicKey);
  const material = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
  const trust = toTrustMaterial({ mediaType: '', ...material }, () => ({ publicKey: key, validFor: () => true }));
  const verifier = new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
  verifier.verify(toSignedEntity(bundleFromJSON(JSON.parse(bundle))));
}

describe('sealwright attest', () => {
  it.each(['rsa-3072', 'ec-p256'])(
    '%s: the bundle is accepted by @sigstore/verify and by verifiers that compute key IDs, a modified statement is not',
    async (name) => {
      writeFileSync(at('app.bin'), 'an artifact');
      writeFileSync(at('predicate.json'), '{"buildDefinition":{"buildType":"https://example.org/build"}}');
      const made = await sealwright([
        'attest',
        at('app.bin'),
        '--predicate',
        at('predicate.json'),
        '--key',
        name,
        '--out',
        at('out.json'),
      ]);
      expect(made).toMatchObject({ code: 0 });
      const bundle = readFileSync(at('out.json'), 'utf8');
      const key = await publishedKey(certified.service, certified.apiKey, name);
      verify(bundle, key);
      const { dsseEnvelope } = JSON.parse(bundle);
      expect(signaturesFound(dsseEnvelope, key.publicKey)).toBe(1);
      const statement = JSON.parse(Buffer.from(dsseEnvelope.payload, 'base64').toString());
      expect(statement).toMatchObject({
        _type: 'https://in-toto.io/Statement/v1',
        subject: [{ name: 'app.bin', digest: { sha256: createHash('sha256').update('an artifact').digest('hex') } }],
        predicateType: 'https://slsa.dev/provenance/v1',
      });
      const changed = JSON.parse(bundle);
      changed.dsseEnvelope.payload = Buffer.from(JSON.stringify({ ...statement, subject: [] })).toString('base64');
      expect(() => verify(JSON.stringify(changed), key)).toThrow(/verif|signature/);
    },
  );

  it('--envelope writes a bare envelope accepted by verifiers that compute key IDs', async () => {
    writeFileSync(at('bare.bin'), 'an artifact');
    writeFileSync(at('bare.json'), '{}');
    const args = ['attest', at('bare.bin'), '--predicate', at('bare.json'), '--key', 'ec-p256', '--envelope'];
    expect(await sealwright(args)).toMatchObject({ code: 0, out: `${at('bare.bin')}.intoto.json\n` });
    const { publicKey } = await publishedKey(certified.service, certified.apiKey, 'ec-p256');
    const envelope = JSON.parse(readFileSync(at('bare.bin.intoto.json'), 'utf8'));
    expect(signaturesFound(envelope, publicKey)).toBe(1);
    expect(
      signaturesFound({ ...envelope, signatures: [{ ...envelope.signatures[0], keyid: 'ec-p256' }] }, publicKey),
    ).toBe(0);
  });

  it('exits with 5 while approval is pending, and waits for it with --wait', async () => {
    const { service, apiKey, stage } = certified;
    const key = await createKey(service, apiKey, { name: 'guarded-attest', type: 'ec-p256' });
    const approver = await requireApproval({ stage, service, apiKey }, key.name);
    const args = [
      'attest',
      at('app.bin'),
      '--predicate',
      at('predicate.json'),
      '--key',
      key.name,
      '--out',
      at('guarded.json'),
    ];
    const waiting = sealwright([...args, '--wait', '60']);
    const { approvalId } = await waitingRequest({ service, apiKey }, key.name);
    await vote(service, approvalId, approver);
    expect(await waiting).toMatchObject({ code: 0 });
    verify(readFileSync(at('guarded.json'), 'utf8'), key);
    expect((await sealwright(args)).code).toBe(5);
  });
});

describe('an attestation predicate', () => {
  it.each([
    ['a list', '[]'],
    ['a text', '"provenance"'],
    ['null', 'null'],
    ['an empty file', ''],
  ])('that is %s is rejected before any request, because statements contain an object', async (_, text) => {
    writeFileSync(at('bad.json'), text);
    writeFileSync(at('subject.bin'), 'subject');
    const attested = await sealwright(['attest', at('subject.bin'), '--predicate', at('bad.json'), '--key', 'ec-p256']);
    expect(attested).toMatchObject({ code: 1, err: expect.stringContaining('bad.json is ') });
    expect(existsSync(at('subject.bin.intoto.sigstore.json'))).toBe(false);
  });
});

describe('notation-sealwright', () => {
  const ask = async (
    command: string,
    body: object,
    environment?: Record<string, string>,
  ): Promise<{ code: number; answer: Record<string, unknown> }> => {
    const { code, out, err } = await sealwright(
      ['notation', command],
      JSON.stringify({ contractVersion: '1.0', ...body }),
      environment,
    );
    return { code, answer: JSON.parse(code === 0 ? out : err) };
  };

  it('lists its capabilities', async () => {
    const { answer } = await ask('get-plugin-metadata', {});
    expect(answer).toMatchObject({
      name: 'sealwright',
      capabilities: ['SIGNATURE_GENERATOR.RAW'],
      supportedContractVersions: ['1.0'],
    });
  });

  it.each([
    ['rsa-3072', 'RSA-3072', 'SHA-384', 'PS384'],
    ['ec-p256', 'EC-256', 'SHA-256', 'ES256'],
    ['ec-p384', 'EC-384', 'SHA-384', 'ES384'],
  ])(
    '%s: describes the key, and jose verifies the JWS of its signature',
    async (keyId, keySpec, hashAlgorithm, alg) => {
      expect((await ask('describe-key', { keyId })).answer).toEqual({ keyId, keySpec });
      const header = Buffer.from(JSON.stringify({ alg, cty: 'application/vnd.cncf.notary.payload.v1+json' })).toString(
        'base64url',
      );
      const target = {
        targetArtifact: { mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: 'sha256:00', size: 2 },
      };
      const input = `${header}.${Buffer.from(JSON.stringify(target)).toString('base64url')}`;
      const payload = Buffer.from(input).toString('base64');
      const { code, answer } = await ask('generate-signature', { keyId, keySpec, hashAlgorithm, payload });
      expect({ code, answer }).toMatchObject({
        code: 0,
        answer: { keyId, certificateChain: [expect.any(String), expect.any(String)] },
      });
      const { publicKey } = await publishedKey(certified.service, certified.apiKey, keyId);
      const signature = Buffer.from(String(answer['signature']), 'base64').toString('base64url');
      await expect(compactVerify(`${input}.${signature}`, await importSPKI(publicKey, alg))).resolves.toBeDefined();
    },
  );

  it.each(['describe-key', 'generate-signature'])(
    '%s: rejects a key with an expired certificate, with the expiry date',
    async (command) => {
      const late = { NODE_OPTIONS: `--import ${SKEWED_CLOCK}`, SKEW_MS: String(40 * 24 * 3600 * 1000) };
      const payload = Buffer.from('{}').toString('base64');
      const body = { keyId: 'ec-p256', keySpec: 'EC-256', hashAlgorithm: 'SHA-256', payload };
      const errorMessage = expect.stringMatching(
        /^The certificate of key "ec-p256" expired on \d{4}-\d\d-\d\d\. .*\[certificate\.expired\]$/,
      );
      expect(await ask(command, body, late)).toMatchObject({ code: 1, answer: { errorCode: 'ERROR', errorMessage } });
    },
  );

  it.each([
    ['another contract', { contractVersion: '2.0', keyId: 'ec-p256' }, 'UNSUPPORTED_CONTRACT_VERSION'],
    [
      'another hash than that of the key',
      { keyId: 'ec-p256', keySpec: 'EC-256', hashAlgorithm: 'SHA-512', payload: 'AAAA' },
      'VALIDATION_ERROR',
    ],
    [
      'a payload that is no base64',
      { keyId: 'ec-p256', keySpec: 'EC-256', hashAlgorithm: 'SHA-256', payload: '***' },
      'VALIDATION_ERROR',
    ],
  ])('rejects %s', async (_, body, errorCode) => {
    expect(await ask('generate-signature', body)).toMatchObject({ code: 1, answer: { errorCode } });
  });
});
