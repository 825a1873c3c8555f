import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { createHash, createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyEvidence } from '../../src/verifier/evidence-verifier.js';
import { type Approver, held, newApprovers, newGuardedKey, vote } from '../approvals/approvers.js';
import { register } from '../auth/people.js';
import { sealwright } from '../client/program.js';
import { Authority } from '../support/authority.js';
import { certifiedKey } from '../support/certified-keys.js';
import type { Service } from '../support/service.js';
import { digestOf, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const CONTENT = Buffer.from('what is released');

let stage: Stage;
let service: Service;
let apiKey: string;
let logKey: Buffer;
let origin: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start();
});
afterAll(() => stage.close());

/** Signs the content and fetches the evidence of the request. */
async function evidenceFor(body: Record<string, unknown> = {}) {
  const { status: signed, body: request } = await sign(service, {
    key: apiKey,
    body: { digest: digestOf(CONTENT), ...body },
  });
  expect({ signed, request }).toMatchObject({ signed: 200 });
  const { status, body: evidence } = await service.call('GET', `/api/v1/sign/requests/${request.requestId}/evidence`, {
    key: apiKey,
  });
  expect(status).toBe(200);
  logKey ??= Buffer.from(evidence.log.publicKey, 'base64');
  ({ origin } = evidence.log);
  return evidence;
}

describe('signature evidence verifies with the log key only', () => {
  beforeAll(async () => {
    const authority = new Authority();
    await certifiedKey(service, apiKey, authority, { name: 'tsa', type: 'ec-p256', purpose: 'timestamping' });
    for (const name of ['certified', 'certified-too'])
      await certifiedKey(service, apiKey, authority, { name, type: 'ec-p256' });
    authority.remove();
  });

  it.each([
    ['ecdsa-der', { key: 'default' }],
    ['ecdsa-raw', { key: 'default', scheme: 'ecdsa-raw' }],
    ['rsa-pkcs1v15', { key: 'demo-rsa' }],
    ['rsa-pss', { key: 'demo-rsa', scheme: 'rsa-pss' }],
  ])('%s', async (_name, body) => {
    const evidence = await evidenceFor(body);
    expect(verifyEvidence(evidence, { logKey, content: CONTENT })).toEqual([]);
    expect(verifyEvidence(evidence, { logKey, content: Buffer.from('another file') })).toEqual([
      'the signature is for a different file',
    ]);
  });

  it('with the approvers and the approved document, if a policy required approval', async () => {
    const place = { stage, service, apiKey };
    const [ada, ben, cleo] = await newApprovers(place, 3);
    const members = [ada as Approver, ben as Approver];
    const group = [...members, cleo as Approver];
    const { key } = await newGuardedKey(place, [{ members: group, threshold: 2 }], { rejectThreshold: 2 });
    const { approvalId, requestId } = await held(place, { digest: digestOf(CONTENT), key: key.name });
    expect((await vote(service, approvalId, cleo as Approver, { decision: 'reject' })).status).toBe(200);
    for (const member of members) await vote(service, approvalId, member);
    await read(service, apiKey, requestId);
    const { body: evidence } = await service.call('GET', `/api/v1/sign/requests/${requestId}/evidence`, {
      key: apiKey,
    });
    expect(verifyEvidence(evidence, { logKey, content: CONTENT })).toEqual([]);
    const said = evidence.log.leaves.map(({ data }: { data: string }) =>
      JSON.parse(Buffer.from(data, 'base64').toString()),
    );
    for (const cast of ['approval.approved', 'approval.rejected']) {
      const at = said.findIndex(({ action }: { action: string }) => action === cast);
      const log = { ...evidence.log, leaves: evidence.log.leaves.toSpliced(at, 1) };
      expect(verifyEvidence({ ...evidence, log }, { logKey })).toEqual(['entries about its approval are missing: 1']);
    }
    const { approval, ...without } = evidence;
    expect(verifyEvidence(without, { logKey })).toEqual(['the log has no approval of this request']);
    const shown = { ...approval.shown, reference: 'other' };
    expect(verifyEvidence({ ...evidence, approval: { shown } }, { logKey })).toEqual([
      'the log has no approval of this request',
    ]);
  });

  it('with the CLI, without the service', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'sealwright-evidence-'));
    const keep = (name: string, text: string | Buffer) => {
      writeFileSync(join(directory, name), text);
      return join(directory, name);
    };
    const evidence = await evidenceFor();
    const pem = createPublicKey({ key: logKey, format: 'der', type: 'spki' }).export({ format: 'pem', type: 'spki' });
    const key = ['--key', keep('log.pem', pem.toString())];
    const [whole, other] = [keep('whole.json', JSON.stringify(evidence)), keep('other', 'another file')];
    const said = (args: string[]) => sealwright(['evidence', 'verify', ...args, ...key]);
    const content = ['--content', keep('content', CONTENT)];
    expect(await said([whole, ...content])).toMatchObject({ code: 0, out: expect.stringContaining('valid: sha256') });
    const wrong = await said([whole, '--content', other, '-o', 'json']);
    expect([wrong.code, JSON.parse(wrong.out).faults]).toEqual([1, ['the signature is for a different file']]);
    const forged = keep('forged.json', JSON.stringify({ ...evidence, key: { ...evidence.key, name: 'other' } }));
    expect(await said([forged])).toMatchObject({
      code: 1,
      out: expect.stringContaining('BAD the log has a different key'),
    });
    expect(await said([keep('empty.json', '{}')])).toMatchObject({ code: 1 });
    const text = JSON.stringify(evidence);
    const twice = text.replace('"request":{', '"request":{"digest":"AAAA","metadata":{"filename":"forged.exe"},');
    expect(await said([keep('twice.json', twice)])).toMatchObject({
      code: 1,
      err: expect.stringContaining('duplicate member "digest" (at /request/digest)'),
    });
    expect(await said([keep('marked.json', `\uFEFF${text}`), ...content])).toMatchObject({ code: 0 });
    const problem = {
      type: 'about:blank',
      title: 'Not Found',
      status: 404,
      detail: 'Request not found.',
      code: 'request.missing',
    };
    expect(await said([keep('problem.json', JSON.stringify(problem))])).toMatchObject({
      code: 1,
      err: expect.stringContaining('error response of a rejected call: Request not found [request.missing]'),
    });
    expect(await said([other])).toMatchObject({ code: 1, err: expect.stringContaining('Cannot read') });
    rmSync(directory, { recursive: true });
  });

  it('and the log contains the request, the requester and the outcome', async () => {
    const { log } = await evidenceFor();
    const said = log.leaves.map(({ data }: { data: string }) => JSON.parse(Buffer.from(data, 'base64').toString()));
    expect(said.map(({ action }: { action: string }) => action)).toEqual(['signing.accepted', 'signing.signed']);
    expect(said[0].actor.kind).toBe('api-key');
  });

  it('and any modification is detected', async () => {
    const evidence = await evidenceFor();
    const changed = (change: (copy: typeof evidence) => void) => {
      const copy = structuredClone(evidence);
      change(copy);
      return verifyEvidence(copy, { logKey, content: CONTENT });
    };
    const flipped = (text: string) => {
      const bytes = Buffer.from(text, 'base64');
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      return bytes.toString('base64');
    };
    expect(changed((copy) => (copy.request.digest = flipped(copy.request.digest)))).not.toEqual([]);
    expect(changed((copy) => (copy.request.signature = flipped(copy.request.signature)))).not.toEqual([]);
    expect(changed((copy) => (copy.request.requestId = copy.key.id))).not.toEqual([]);
    expect(changed((copy) => (copy.key.name = 'other'))).not.toEqual([]);
    expect(changed((copy) => (copy.log.leaves[0].path[0] = flipped(copy.log.leaves[0].path[0])))).not.toEqual([]);
    expect(changed((copy) => (copy.log.leaves[0].data = flipped(copy.log.leaves[0].data)))).not.toEqual([]);
    expect(changed((copy) => (copy.log.checkpoint = copy.log.checkpoint.replace(/\n\d+\n/, '\n1\n')))).not.toEqual([]);
    expect(changed((copy) => copy.log.leaves.pop())).toContain('the log has a different signature');
  });

  it('and no field of the request and its key can be modified', async () => {
    const metadata = { filename: 'app.tar.gz', commit: '4f1c' };
    const order = { key: 'certified', format: 'cms', timestamp: true, reference: 'build-7', metadata };
    const evidence = await evidenceFor(order);
    expect(verifyEvidence(evidence, { logKey })).toEqual([]);
    expect(evidence.request).toMatchObject({ timestamp: expect.any(String), certificateChain: expect.any(Array) });
    const other = await evidenceFor({ key: 'certified-too', format: 'cms' });
    const changed = { ...other.request, metadata: {}, reference: 'build-8', timestamp: 'MAA=', status: 'FAILED' };
    const times = { createdAt: '2020-01-01T00:00:00Z', finishedAt: '2020-01-01T00:00:01Z' };
    const values: Record<string, unknown> = {
      ...changed,
      ...times,
      algorithm: 'sha512',
      scheme: 'rsa-pss',
      format: 'raw',
      digest: 'AAAA',
    };
    for (const name of Object.keys(evidence.request)) {
      const copy = { ...evidence, request: { ...evidence.request, [name]: values[name] } };
      expect([name, verifyEvidence(copy, { logKey })]).not.toEqual([name, []]);
    }
    const otherKey: Record<string, unknown> = { ...other.key, version: 2, type: 'rsa-2048', attributes: {} };
    for (const name of Object.keys(evidence.key)) {
      const copy = { ...evidence, key: { ...evidence.key, [name]: otherKey[name] } };
      expect([name, verifyEvidence(copy, { logKey })]).not.toEqual([name, []]);
    }
    expect(verifyEvidence({ ...evidence, log: { ...evidence.log, origin: 'another/log' } }, { logKey })).toEqual([
      'the checkpoint is for a different log',
    ]);
  });
});

describe('a bundle is in a log that Sigstore verifiers can check', () => {
  const verifier = (publicKey: string, log: Buffer) => {
    const tlog = {
      baseUrl: `http://${origin}`,
      hashAlgorithm: 1,
      publicKey: {
        rawBytes: log,
        keyDetails: 5,
        validFor: { start: new Date(0), end: undefined },
      },
      logId: { keyId: createHash('sha256').update(log).digest() },
      checkpointKeyId: undefined,
      operator: '',
    };
    const trust = toTrustMaterial(
      { mediaType: '', certificateAuthorities: [], timestampAuthorities: [], tlogs: [tlog], ctlogs: [] },
      () => ({ publicKey: createPublicKey(publicKey), validFor: () => true }),
    );
    return new Verifier(trust, { tlogThreshold: 1, ctlogThreshold: 0, timestampThreshold: 0 });
  };
  const entity = (bundle: unknown) => toSignedEntity(bundleFromJSON(bundle), CONTENT);

  it.each(['default', 'demo-rsa'])('%s: @sigstore/verify finds it in the log', async (key) => {
    const { bundle, key: used } = await evidenceFor({ key, format: 'sigstore-bundle' });
    expect(() => verifier(used.publicKey, logKey).verify(entity(bundle))).not.toThrow();
  });

  it('and rejects a bundle without a log, a forged checkpoint, another proof, another log', async () => {
    const { bundle, key, request } = await evidenceFor({ format: 'sigstore-bundle' });
    const check =
      (other: unknown, log = logKey) =>
      () =>
        verifier(key.publicKey, log).verify(entity(other));
    const changed = (change: (proof: { checkpoint: { envelope: string }; hashes: string[] }) => void) => {
      const copy = structuredClone(bundle);
      change(copy.verificationMaterial.tlogEntries[0].inclusionProof);
      return copy;
    };
    expect(check(JSON.parse(Buffer.from(request.signature, 'base64').toString()))).toThrow(/tlog entries/);
    expect(
      check(changed((proof) => (proof.checkpoint.envelope = proof.checkpoint.envelope.replace(/\n\d/, '\n9')))),
    ).toThrow(/checkpoint/);
    expect(check(changed((proof) => proof.hashes.pop()))).toThrow(/hash count/);
    expect(check(bundle, createPublicKey(key.publicKey).export({ type: 'spki', format: 'der' }))).toThrow(/checkpoint/);
  });
});

describe('evidence is available only to callers who may see the request', () => {
  it('and returns not found for a stranger, and for a request without a signature', async () => {
    const { accessToken: key } = await register(service);
    const { request } = await evidenceFor();
    const path = (id: string) => `/api/v1/sign/requests/${id}/evidence`;
    expect((await service.call('GET', path(request.requestId), { key })).status).toBe(404);
    const place = { stage, service, apiKey };
    const members = await newApprovers(place, 1);
    const { key: guarded } = await newGuardedKey(place, [{ members, threshold: 1 }]);
    const waiting = await held(place, { digest: digestOf('later'), key: guarded.name });
    const { status, body } = await service.call('GET', path(waiting.requestId), { key: apiKey });
    expect([status, body.code]).toEqual([409, 'evidence.not-signed']);
  });
});
