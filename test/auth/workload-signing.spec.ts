import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { verifyEvidence } from '../../src/verifier/evidence-verifier.js';
import { type Approver, newApprovers, newGuardedKey, vote, unique } from '../approvals/approvers.js';
import { GITHUB, GITLAB, KUBERNETES } from '../fakes/workload-claims.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { createKey, digestOf, read, sign } from '../support/signing.js';
import type { Stage } from '../support/stage.js';
import {
  AUDIENCE,
  exchange,
  newTrust,
  openWorkloadStage,
  releaseClaims,
  RELEASES,
  runOf,
  trustIssuer,
} from './workload-calls.js';

const issuer = new WorkloadIssuer();
let stage: Stage;
let service: Service;
let key: string;
let issuerId: string;

beforeAll(async () => {
  ({ stage, service, key, issuerId } = await openWorkloadStage(issuer));
});
afterAll(async () => {
  await issuer.stop();
  await stage.close();
});

const good = () => releaseClaims(issuer);
const signWith = (token: string, body: object = {}) =>
  sign(service, { key: token, body: { digest: digestOf('release'), ...body } });

describe('signing with a job token', () => {
  const RULES: Record<string, object[]> = {
    GitHub: RELEASES,
    GitLab: [
      { claim: 'project_path', values: ['my-group/my-project'] },
      { claim: 'ref_path', values: ['refs/tags/v*'] },
    ],
    Kubernetes: [{ claim: 'sub', values: ['system:serviceaccount:release:signer'] }],
  };

  it.each<[string, object]>([
    ['GitHub', GITHUB],
    ['GitLab', GITLAB],
    ['Kubernetes', KUBERNETES],
  ])(
    '%s: exchange, request, approval, and evidence that verifies offline with the signature of the issuer',
    async (name, claims) => {
      const place = { stage, service, apiKey: key };
      const members = await newApprovers(place, 1);
      const { key: guarded } = await newGuardedKey(place, [{ members, threshold: 1 }]);
      const audience = `https://${name.toLowerCase()}.example`;
      await newTrust({ service, key }, issuerId, {
        name: `${name} releases`,
        conditions: RULES[name],
        audience,
        keys: [guarded.name],
      });
      const token = await issuer.sign({ ...good(), ...claims, aud: audience });
      const { body: granted } = await exchange(service, token);
      const run = granted.access_token as string;
      const { body: asked } = await signWith(run, { key: guarded.name, metadata: { filename: 'app.tar.gz' } });
      expect(asked.status).toBe('PENDING_APPROVAL');
      const { body: shown } = await service.call('GET', `/api/v1/approvals/${asked.approvalId}`, { key });
      expect(shown.shown.verified).toMatchObject({ claims, trust: { name: `${name} releases` } });
      expect(shown.shown.metadata).toEqual({ filename: 'app.tar.gz' });
      await vote(service, asked.approvalId, members[0] as Approver);
      expect((await read(service, run, asked.requestId)).body.status).toBe('SIGNED');
      const evidenceOf = async () =>
        (await service.call('GET', `/api/v1/sign/requests/${asked.requestId}/evidence`, { key: run })).body;
      const early = await evidenceOf();
      expect(early.workload.token).toBeUndefined();
      expect(verifyEvidence(early, { content: Buffer.from('release') })).toEqual([]);
      const endedAgo = (time: string) =>
        stage.change(`UPDATE workload_identity SET token_expires_at = now() - $1::interval WHERE id = $2`, [
          time,
          asked.verified.id,
        ]);
      // Other services may accept the token for a few minutes after it expires, so the token is added to the evidence only ten minutes after it expires.
      await endedAgo('9 minutes');
      expect((await evidenceOf()).workload).toMatchObject({ tokenFrom: expect.any(String) });
      await endedAgo('11 minutes');
      const evidence = await evidenceOf();
      const logKey = Buffer.from(evidence.log.publicKey, 'base64');
      expect(verifyEvidence(evidence, { logKey, content: Buffer.from('release') })).toEqual([]);
      expect(evidence.workload.token).toBe(token);
      const forged = structuredClone(evidence);
      forged.workload.token = `${token.slice(0, -8)}AAAAAAAA`;
      expect(verifyEvidence(forged, { logKey })).toEqual(["the token is not signed with the issuer's key"]);
    },
  );
});

describe('a key for verified runs only', () => {
  it('signs for tags of this repository from this workflow, both at the call and when claimed', async () => {
    const name = unique('tags');
    const verified = RELEASES;
    const made = await createKey(service, key, { name, type: 'ec-p256', constraints: { verified } });
    const conditions = [{ claim: 'repository', values: ['octo-org/*'] }];
    const audience = 'https://constraint.example';
    await newTrust({ service, key }, issuerId, { conditions, audience });
    const run = async (change: object = {}) => {
      const { body } = await exchange(service, await issuer.tokenFor({ ...GITHUB, ...change }, audience));
      return body.access_token as string;
    };
    expect((await signWith(await run(), { key: name })).status).toBe(200);
    assertProblem(await signWith(key, { key: name }), { status: 403, code: 'key-policy.identity' });
    assertProblem(await signWith(await run({ ref: 'refs/heads/main' }), { key: name }), {
      status: 403,
      code: 'key-policy.claim',
    });
    assertProblem(await signWith(await run({ repository: 'octo-org/other' }), { key: name }), {
      status: 403,
      code: 'key-policy.claim',
    });
    expect(made.name).toBe(name);
  });

  it('signs while several issuers are enabled only if its constraints name the issuer', async () => {
    const other = new WorkloadIssuer();
    await other.start();
    const { id } = await trustIssuer({ service, key }, { issuer: other.issuer });
    onTestFinished(async () => {
      await service.call('DELETE', `/api/settings/workload-issuers/${id}`, { key });
      await other.stop();
    });
    const run = async (verified: object[]) => {
      const { name } = await createKey(service, key, {
        name: unique('named'),
        type: 'ec-p256',
        constraints: { verified },
      });
      const { body } = await exchange(service, await issuer.tokenFor(GITHUB, AUDIENCE));
      return signWith(body.access_token as string, { key: name });
    };
    assertProblem(await run(RELEASES), { status: 403, code: 'key-policy.claim' });
    expect((await run([...RELEASES, { claim: 'iss', values: [issuer.issuer] }])).status).toBe(200);
  });
});

/** Returns a Sigstore verifier that trusts this key and this log and requires an inclusion proof. */
function sigstoreVerifier({
  key: signer,
  log,
}: {
  key: { publicKey: string };
  log: { origin: string; publicKey: string };
}) {
  const rawBytes = Buffer.from(log.publicKey, 'base64');
  const tlog = {
    baseUrl: `http://${log.origin}`,
    hashAlgorithm: 1,
    publicKey: { rawBytes, keyDetails: 5, validFor: { start: new Date(0), end: undefined } },
    logId: { keyId: createHash('sha256').update(rawBytes).digest() },
    checkpointKeyId: undefined,
    operator: '',
  };
  const trust = toTrustMaterial(
    { mediaType: '', certificateAuthorities: [], timestampAuthorities: [], tlogs: [tlog], ctlogs: [] },
    () => ({ publicKey: createPublicKey(signer.publicKey), validFor: () => true }),
  );
  return new Verifier(trust, { tlogThreshold: 1, ctlogThreshold: 0, timestampThreshold: 0 });
}

function verifyWithOpenssl(publicKey: string, message: Buffer, signature: Buffer): string {
  const place = mkdtempSync(join(tmpdir(), 'sealwright-dsse-'));
  const keep = (name: string, content: string | Buffer) => {
    writeFileSync(join(place, name), content);
    return join(place, name);
  };
  const args = ['dgst', '-sha256', '-verify', keep('key.pem', publicKey), '-signature', keep('sig', signature)];
  const said = execFileSync('openssl', [...args, keep('message', message)], { encoding: 'utf8' });
  rmSync(place, { recursive: true });
  return said;
}

describe('a provenance statement', () => {
  it('contains what the issuer proved, is in the log, and is for workloads only', async () => {
    const subjects = [{ name: 'app.tar.gz', digest: digestOf('release') }];
    const attest = (as: string, more: object = {}) =>
      service.call('POST', '/api/v1/sign/attestation', { key: as, body: { subjects, key: 'default', ...more } });
    const run = await runOf(service, issuer);
    const { status, body } = await attest(run);
    expect(status).toBe(200);
    expect(body.statement.predicate.runDetails.metadata.invocationId).toContain(
      `/actions/runs/${GITHUB.run_id}/attempts/2`,
    );
    expect(body.request.format).toBe('attestation');
    assertProblem(await attest(key), { status: 403, code: 'attestation.no-identity' });
    const limits = { name: unique('limited'), audience: 'https://limited.example', keys: ['demo-*'] };
    await newTrust({ service, key }, issuerId, limits);
    const limited = await exchange(service, await issuer.sign({ ...good(), ...GITHUB, aud: limits.audience }));
    const other = await attest(limited.body.access_token as string);
    assertProblem(other, { status: 403, code: 'workload-trust.key' });
    const { body: evidence } = await service.call('GET', `/api/v1/sign/requests/${body.request.requestId}/evidence`, {
      key: run,
    });
    const content = Buffer.from(body.envelope.payload, 'base64');
    expect(verifyEvidence(evidence, { content })).toEqual([]);
    expect(evidence.bundle.verificationMaterial.tlogEntries[0].kindVersion).toEqual({ kind: 'dsse', version: '0.0.1' });
    const check = (bundle: unknown) => () => sigstoreVerifier(evidence).verify(toSignedEntity(bundleFromJSON(bundle)));
    expect(check(evidence.bundle)).not.toThrow();
    expect(check(body.bundle)).toThrow(/tlog entries/);
    const payload = Buffer.from('{"_type":"another statement"}').toString('base64');
    expect(check({ ...evidence.bundle, dsseEnvelope: { ...body.envelope, payload } })).toThrow(
      /DSSE payload hash|signature/,
    );
    // Verifies the signature over the DSSE encoding independently of Sigstore.
    const signed = Buffer.concat([
      Buffer.from(`DSSEv1 ${body.envelope.payloadType.length} ${body.envelope.payloadType} ${content.length} `),
      content,
    ]);
    const [{ sig }] = body.envelope.signatures;
    expect(verifyWithOpenssl(evidence.key.publicKey, signed, Buffer.from(sig, 'base64'))).toContain('Verified OK');
    assertProblem(await signWith(key, { format: 'attestation' }), { status: 400, code: 'request.invalid' });
    const { body: again } = await service.call('GET', `/api/v1/sign/attestations/${body.request.requestId}`, {
      key: run,
    });
    expect(again.envelope).toEqual(body.envelope);
    const { body: verdict } = await service.call('POST', '/api/v1/verify', {
      key,
      body: { requestId: body.request.requestId },
    });
    expect(verdict.valid).toBe(true);
    const { body: plain } = await signWith(run);
    assertProblem(await service.call('GET', `/api/v1/sign/attestations/${plain.requestId}`, { key: run }), {
      status: 404,
      code: 'attestation.none',
    });
  });
});
