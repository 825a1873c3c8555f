import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unique, vote } from '../approvals/approvers.js';
import { requireApprover } from '../client/agent/approving.js';
import { newApiKey } from '../support/access.js';
import { ask, Authority } from '../support/authority.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, sign, verifies } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const KEYS = '/api/v1/signing-keys';
const SUBJECT = { commonName: 'Release signing', organization: 'Example Ltd', country: 'GB' };

let stage: Stage;
let service: Service;
let apiKey: string;
let authority: Authority;

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  authority = new Authority();
});
afterAll(async () => {
  authority.remove();
  await stage.close();
});

const post = (path: string, body: unknown = {}): Promise<Answer> => service.call('POST', path, { key: apiKey, body });
const get = (path: string): Promise<Answer> => service.call('GET', path, { key: apiKey });

async function csrOf(id: string, version?: number): Promise<string> {
  const { status, body } = await post(`${KEYS}/${id}/csr`, { subject: SUBJECT, version });
  expect({ status, body }).toMatchObject({ status: 201 });
  return body.csr;
}

async function certify(key: PublishedKey): Promise<Answer> {
  return post(`${KEYS}/${key.id}/certificate`, { chain: authority.issue(await csrOf(key.id)).chain });
}

describe.each(['rsa-2048', 'rsa-4096', 'ec-p256', 'ec-p384', 'ec-p521'])(
  'a certificate signing request for %s',
  (type) => {
    it('is accepted by openssl, and rejected with one byte flipped', async () => {
      const key = await createKey(service, apiKey, { name: `csr-${type}`, type });
      const csr = authority.keep('own.csr', await csrOf(key.id));
      const { ok, text } = ask('openssl', ['req', '-verify', '-in', csr, '-noout', '-text']);
      expect({ ok, text }).toMatchObject({ ok: true });
      expect(text).toContain('verify OK');
      expect(text).toContain('C = GB, O = Example Ltd, CN = Release signing');
      expect(text).toContain('Code Signing');

      const der = execFileSync('openssl', ['req', '-in', csr, '-outform', 'DER']);
      const at = der.indexOf('Release');
      der.writeUInt8(der.readUInt8(at) ^ 1, at);
      const flipped = authority.keep('flipped.csr', der);
      const refused = ask('openssl', ['req', '-verify', '-inform', 'DER', '-in', flipped, '-noout']);
      expect(refused.text).toMatch(/verify failure/i);
      expect(refused.text).not.toContain('verify OK');
    });
  },
);

it('signing the request is recorded like any other use of the key', async () => {
  const key = await createKey(service, apiKey, { name: 'recorded', type: 'ec-p256' });
  await csrOf(key.id);
  const rows = await stage.sql(`SELECT status, metadata FROM signing_request WHERE key_id = $1`, [key.id]);
  expect(rows).toEqual([{ status: 'SIGNED', metadata: { purpose: 'certification request', subject: SUBJECT } }]);
});

describe('an imported certificate', () => {
  let key: PublishedKey;
  let imported: Answer;

  beforeAll(async () => {
    key = await createKey(service, apiKey, { name: 'certified', type: 'rsa-2048' });
    imported = await certify(key);
  });

  it('is listed with its chain and the remaining days', async () => {
    expect(imported).toMatchObject({ status: 201 });
    expect(imported.body).toMatchObject({
      keyId: key.id,
      keyVersion: 1,
      subject: 'CN=Release signing, O=Example Ltd, C=GB',
      issuer: 'CN=Test Issuing',
      daysLeft: 29,
      purposes: ['code-signing'],
    });
    const { body } = await get('/api/v1/certificates');
    expect(body.items[0]).toEqual(imported.body);
    expect((await get(`/api/v1/certificates/${imported.body.id}`)).body).toEqual(imported.body);
  });

  it('is included in every signature, and openssl builds the path from it', async () => {
    const { body } = await sign(service, { key: apiKey, body: { digest: digestOf('content'), key: key.name } });
    const [leaf, issuing, ...more] = body.certificateChain.map((der: string) => Buffer.from(der, 'base64'));
    expect(more).toEqual([]);
    const pem = (der: Buffer) => execFileSync('openssl', ['x509', '-inform', 'DER'], { input: der });
    const args = ['verify', '-CAfile', authority.root, '-untrusted', authority.keep('issuing.pem', pem(issuing))];
    expect(ask('openssl', [...args, authority.keep('leaf.pem', pem(leaf))]).text).toContain('OK');
    leaf[leaf.length - 1] ^= 1;
    expect(ask('openssl', [...args, authority.keep('leaf.pem', pem(leaf))]).ok).toBe(false);
    const later = await get(`/api/v1/sign/requests/${body.requestId}`);
    expect(later.body.certificateChain).toEqual(body.certificateChain);
  });

  it('cannot be imported twice', async () => {
    const again = await post(`${KEYS}/${key.id}/certificate`, { chain: imported.body.chain.join('') });
    assertProblem(again, { status: 409, code: 'certificate.known' });
  });
});

describe('a certificate is rejected', () => {
  let key: PublishedKey;
  let csr: string;

  beforeAll(async () => {
    key = await createKey(service, apiKey, { name: 'refused', type: 'ec-p256' });
    csr = await csrOf(key.id);
  });

  const refused = async (code: string, chain: string) =>
    assertProblem(await post(`${KEYS}/${key.id}/certificate`, { chain }), {
      status: 422,
      code: `certificate.${code}`,
      pointer: '/chain',
    });

  it('for another key', async () => {
    const other = await createKey(service, apiKey, { name: 'other-key', type: 'ec-p256' });
    await refused('other-key', authority.issue(await csrOf(other.id)).chain);
  });
  it('without its issuer', async () => {
    await refused('incomplete', readFileSync(authority.issue(csr).file, 'utf8'));
  });
  it('with one that is not in its path', async () => {
    const stranger = new Authority();
    await refused('stray', `${authority.issue(csr).chain}${readFileSync(stranger.root, 'utf8')}`);
    stranger.remove();
  });
  it('issued by a certificate that is not a CA', async () => {
    const leafKey = join(authority.directory, 'leaf.key');
    execFileSync('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', leafKey]);
    const no = join(authority.directory, 'no-ca.pem');
    const args = ['req', '-x509', '-new', '-key', leafKey, '-subj', '/CN=No CA', '-out', no];
    execFileSync('openssl', [...args, '-addext', 'basicConstraints=critical,CA:FALSE'], { stdio: 'pipe' });
    const request = authority.keep('by-no-ca.csr', csr);
    const out = join(authority.directory, 'by-no-ca.pem');
    const issue = ['x509', '-req', '-in', request, '-CA', no, '-CAkey', leafKey, '-CAcreateserial', '-out', out];
    execFileSync('openssl', issue, { stdio: 'pipe' });
    await refused('incomplete', readFileSync(out, 'utf8'));
    await refused('path', `${readFileSync(out, 'utf8')}${readFileSync(no, 'utf8')}`);
  });
  it('if it has expired', async () => {
    await refused('expired', authority.issue(csr, { days: '0' }).chain);
  });
  it('for server authentication', async () => {
    await refused('purpose', authority.issue(csr, { extensions: 'extendedKeyUsage=serverAuth\n' }).chain);
  });
  it('if its key may not sign', async () => {
    await refused('purpose', authority.issue(csr, { extensions: 'keyUsage=critical,keyEncipherment\n' }).chain);
  });
  it('if it cannot be parsed', async () => {
    await refused('unreadable', 'certificate');
    await refused('unreadable', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  });
});

describe('a timestamping key accepts only a timestamping certificate', () => {
  it.each([
    ['not critical', 'extendedKeyUsage=timeStamping\nkeyUsage=critical,digitalSignature\n'],
    ['beside another', 'extendedKeyUsage=critical,timeStamping,codeSigning\nkeyUsage=critical,digitalSignature\n'],
    ['with more usage', 'extendedKeyUsage=critical,timeStamping\nkeyUsage=critical,digitalSignature,keyEncipherment\n'],
    ['for code', 'extendedKeyUsage=codeSigning\n'],
  ])('and none that is %s', async (name, extensions) => {
    const { body: key } = await post(KEYS, {
      name: `tsa-${name.replaceAll(' ', '-')}`,
      type: 'ec-p256',
      purpose: 'timestamping',
    });
    const { chain } = authority.issue(await csrOf(key.id), { extensions });
    assertProblem(await post(`${KEYS}/${key.id}/certificate`, { chain }), { status: 422, code: 'certificate.purpose' });
  });

  it('as in its own signing request, and the key signs no digest of a caller', async () => {
    const { body: key } = await post(KEYS, { name: 'tsa-good', type: 'ec-p256', purpose: 'timestamping' });
    expect((await certify(key)).body).toMatchObject({ purposes: ['time-stamping'] });
    const answer = await sign(service, { key: apiKey, body: { digest: digestOf('forged'), key: key.name } });
    assertProblem(answer, { status: 403, code: 'signing-key.purpose' });
  });
});

it('a third-party certificate is onboarded alone or with its path', async () => {
  const chain = readFileSync(authority.root, 'utf8');
  const alone = await post('/api/v1/certificates', { chain });
  expect(alone.status).toBe(201);
  expect(alone.body).toMatchObject({ subject: 'CN=Test Root', daysLeft: 29 });
  expect(alone.body).not.toHaveProperty('keyId');
  const both = `${chain}${readFileSync(authority.intermediate, 'utf8')}`;
  expect((await post('/api/v1/certificates', { chain: both })).body).toMatchObject({ subject: 'CN=Test Issuing' });
});

it('a certificate with an empty subject is identified by its alternative name', async () => {
  const file = join(authority.directory, 'nameless.pem');
  const names = ['-subj', '/', '-addext', 'subjectAltName=DNS:nameless.example.com'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${file}.key`];
  execFileSync('openssl', ['req', '-x509', '-days', '30', ...key, ...names, '-out', file], { stdio: 'pipe' });
  const { status, body } = await post('/api/v1/certificates', { chain: readFileSync(file, 'utf8') });
  expect({ status, body }).toMatchObject({ status: 201, body: { subject: 'DNS:nameless.example.com', issuer: '' } });
});

it('a certificate signing request without a subject is rejected', async () => {
  const { id } = await createKey(service, apiKey, { name: 'subjectless', type: 'ec-p256' });
  const refusal = { status: 400, code: 'request.invalid', pointer: '/subject' };
  for (const body of [{}, { subject: [] }, { subject: null }])
    assertProblem(await post(`${KEYS}/${id}/csr`, body), refusal);
});

describe('a self-signed certificate of a signing key', () => {
  const order = { subject: SUBJECT };
  const made = (id: string, body: unknown = order) => post(`${KEYS}/${id}/self-signed-certificate`, body);

  it.each(['rsa-2048', 'ec-p384'])(
    '%s: openssl verifies it and signatures of the key; repeating the call creates no other',
    async (type) => {
      const key = await createKey(service, apiKey, { name: `own-${type}`, type, purpose: 'code-signing' });
      const { status, body } = await made(key.id);
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { status: 'SIGNED', certificate: { keyId: key.id, keyVersion: 1, purposes: ['code-signing'] } },
      });
      const file = authority.keep(`own-${type}.pem`, body.certificate.chain.join(''));
      expect(ask('openssl', ['verify', '-CAfile', file, file])).toMatchObject({ ok: true });
      expect(await made(key.id)).toMatchObject({ status: 200, body });
      expect((await get(`${KEYS}?limit=200`)).body.items.find(({ id }: PublishedKey) => id === key.id)).toMatchObject({
        certificateId: body.certificate.id,
      });
      const rows = await stage.sql(`SELECT metadata FROM signing_request WHERE key_id = $1`, [key.id]);
      expect(rows).toMatchObject([{ metadata: { purpose: 'self-signed certificate', subject: SUBJECT } }]);
    },
  );

  it('is signed only after approval, and by the same call', async () => {
    const key = await createKey(service, apiKey, {
      name: unique('own-guarded'),
      type: 'ec-p256',
      purpose: 'code-signing',
    });
    const approver = await requireApprover({ stage, service, apiKey }, [key.name]);
    const waiting = await made(key.id);
    expect(waiting).toMatchObject({ status: 202, body: { status: 'PENDING_APPROVAL' } });
    expect((await made(key.id)).body).toEqual(waiting.body);
    const shownOf = async (id: string) => (await get(`/api/v1/approvals/${id}`)).body.shown;
    const composed = await shownOf(waiting.body.approvalId);
    expect(composed).toMatchObject({ composedBy: 'service', toBeSigned: composed.digest });
    // A digest with the same metadata is not mistaken for a certificate that the service composed.
    const { key: other } = await newApiKey(service, apiKey, ['sign:digest']);
    const { metadata, algorithm } = composed;
    const body = { key: key.name, purpose: 'code-signing', digest: composed.digest, algorithm, metadata };
    const copy = await service.call('POST', '/api/v1/sign/digest', { key: other, body });
    const { composedBy: _, requestId: __, requester: ___, ...same } = composed;
    const copied = await shownOf(copy.body.approvalId);
    expect(copied).toMatchObject({ ...same, toBeSigned: null, signedDigest: null });
    expect(copied).not.toHaveProperty('composedBy');
    const [{ digest }] = (await stage.sql(`SELECT digest FROM signing_request WHERE key_id = $1`, [key.id])) as [{ digest: Buffer }]; // prettier-ignore
    expect(stage.operationsOn(digest.toString('base64'))).toBe(0);
    // A caller who knows the digest cannot hide this request behind other requests.
    const copies = { key: key.name, purpose: 'code-signing', items: Array.from({ length: 21 }, () => ({ digest: digest.toString('base64') })) }; // prettier-ignore
    expect((await service.call('POST', '/api/v1/sign/batch', { key: other, body: copies })).status).toBe(202);
    expect((await made(key.id)).body).toEqual(waiting.body);
    await vote(service, waiting.body.approvalId as string, approver);
    const { body: request } = await get(`/api/v1/sign/requests/${waiting.body.requestId}?wait=20`);
    expect(request.status).toBe('SIGNED');
    expect(await made(key.id)).toMatchObject({ status: 200, body: { certificate: { keyId: key.id } } });
  });

  it.each([
    ['openpgp', order, 409, 'certificate.self-signed'],
    ['timestamping', order, 409, 'certificate.self-signed'],
    ['code-signing', { ...order, notAfter: '2020-01-01T00:00:00Z' }, 400, 'certificate.end'],
    ['code-signing', {}, 400, 'request.invalid'],
  ])('%s, %j: is rejected, and nothing is signed', async (purpose, body, status, code) => {
    const key = await createKey(service, apiKey, { name: unique('own'), type: 'ec-p256', purpose });
    assertProblem(await made(key.id, body), { status, code });
    expect(await stage.sql(`SELECT id FROM signing_request WHERE key_id = $1`, [key.id])).toEqual([]);
  });
});

describe('a rotated key', () => {
  const signedBy = async (name: string) => {
    const { body } = await sign(service, { key: apiKey, body: { digest: digestOf('content'), key: name } });
    return { version: body.key.version, signature: Buffer.from(body.signature, 'base64') };
  };

  it('signs with the new version immediately if it has no certificate, and the old signature still verifies', async () => {
    const key = await createKey(service, apiKey, { name: 'rotating', type: 'ec-p256' });
    const before = await signedBy(key.name);
    const { status, body } = await post(`${KEYS}/${key.id}/rotate`);
    expect({ status, version: body.version }).toEqual({ status: 201, version: 2 });
    const after = await signedBy(key.name);
    expect([before.version, after.version]).toEqual([1, 2]);
    const { body: versions } = await get(`${KEYS}/${key.id}/versions`);
    expect(versions.items).toMatchObject([
      { version: 2, state: 'CURRENT', publicKey: body.publicKey },
      { version: 1, state: 'PREVIOUS', publicKey: key.publicKey },
    ]);
    expect(verifies('content', versions.items[1], before.signature)).toBe(true);
    expect(verifies('content', versions.items[0], after.signature)).toBe(true);
    expect(verifies('content', versions.items[0], before.signature)).toBe(false);
  });

  it('keeps using the old version until the new one has its certificate', async () => {
    const key = await createKey(service, apiKey, { name: 'overlapping', type: 'ec-p256' });
    await certify(key);
    expect((await post(`${KEYS}/${key.id}/rotate`)).body.version).toBe(1);
    assertProblem(await post(`${KEYS}/${key.id}/rotate`), { status: 409, code: 'signing-key.rotating' });
    expect((await get(`${KEYS}/${key.id}/versions`)).body.items).toMatchObject([
      { version: 2, state: 'NEXT' },
      { version: 1, state: 'CURRENT' },
    ]);
    expect((await signedBy(key.name)).version).toBe(1);
    expect((await certify(key)).body).toMatchObject({ keyVersion: 2 });
    expect((await signedBy(key.name)).version).toBe(2);
  });

  it('is rotated once by concurrent calls', async () => {
    const key = await createKey(service, apiKey, { name: 'raced', type: 'ec-p256' });
    await certify(key);
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(`${KEYS}/${key.id}/rotate`)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  });
});
