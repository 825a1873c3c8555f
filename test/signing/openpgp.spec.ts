import { createHash, randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requireApproval } from '../client/openpgp-keys.js';
import { vote } from '../approvals/approvers.js';
import { has } from '../support/peers.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, read, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const USER = 'Example releases <releases@example.org>';

let stage: Stage;
let service: Service;
let apiKey: string;
let home: string;
let count = 0;

beforeAll(async () => {
  stage = await openStage({ shim: true });
  ({ apiKey } = await stage.seed());
  service = await stage.start();
  home = mkdtempSync(join(tmpdir(), 'sealwright-openpgp-'));
});
afterAll(async () => {
  execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
  rmSync(home, { recursive: true, force: true });
  await stage.close();
});

interface Key {
  readonly id: string;
  readonly name: string;
}

function newKey(type = 'ec-p256', purpose = 'openpgp', constraints?: object): Promise<Key> {
  count += 1;
  return createKey(service, apiKey, { name: `pgp-${count}`, type, purpose, constraints });
}

const post = (path: string, body: object): Promise<Answer> => service.call('POST', path, { key: apiKey, body });
const certify = ({ id }: Key, body: object = {}): Promise<Answer> =>
  post(`/api/v1/signing-keys/${id}/openpgp`, { userIds: [USER], ...body });
const shown = ({ id }: Key): Promise<Answer> =>
  service.call('GET', `/api/v1/signing-keys/${id}/openpgp`, { key: apiKey });

/** Returns the output of gpg `--with-colons` for a certificate. */
function gpgShows(certificate: string): string {
  const file = join(home, 'certificate.asc');
  writeFileSync(file, certificate);
  execFileSync('gpg', ['--homedir', home, '--batch', '--import', file], { stdio: 'pipe' });
  const fingerprint = execFileSync('gpg', ['--homedir', home, '--with-colons', '--show-keys', file], {
    encoding: 'utf8',
  });
  const name = /^fpr:+([0-9A-F]{40}):/m.exec(fingerprint)?.[1] ?? '';
  return execFileSync('gpg', ['--homedir', home, '--with-colons', '--check-sigs', name], { encoding: 'utf8' });
}

describe.skipIf(!has('gpg'))('an OpenPGP certificate for a signing key', () => {
  it.each(['rsa-2048', 'ec-p256', 'ec-p384', 'ec-p521'])(
    '%s: is accepted by gpg with its user IDs and expiry',
    async (type) => {
      const key = await newKey(type);
      assertProblem(await shown(key), { status: 404, code: 'openpgp.none' });
      const others = [USER, 'Example security <security@example.org>'];
      const { status, body } = await certify(key, { userIds: others, expiresAt: '2035-01-01T00:00:00Z' });
      expect({ status, body }).toMatchObject({ status: 200, body: { fingerprint: expect.stringMatching(/^[0-9A-F]{40}$/), expiresAt: '2035-01-01T00:00:00.000Z' } }); // prettier-ignore
      const colons = gpgShows(body.certificate);
      expect(colons).toContain(`fpr:::::::::${body.fingerprint}:`);
      expect(colons).toContain(String(Date.parse('2035-01-01T00:00:00Z') / 1000));
      expect(colons.match(/^sig:!:/gm)).toHaveLength(2);
      expect(colons).not.toMatch(/^sig:[-%?]/m);
    },
  );

  it('keeps its fingerprint when its expiry changes, and signs each statement once', async () => {
    const key = await newKey();
    const [first, again] = [await certify(key), await certify(key)];
    expect(again.body).toEqual(first.body);
    const later = await certify(key, { expiresAt: '2036-01-01T00:00:00Z' });
    expect(later.body.fingerprint).toBe(first.body.fingerprint);
    expect(gpgShows(later.body.certificate)).toContain(String(Date.parse('2036-01-01T00:00:00Z') / 1000));
    const made = await stage.sql(`SELECT 1 FROM signing_request WHERE key_id = $1`, [key.id]);
    expect(made).toHaveLength(2);
    expect((await shown(key)).body).toEqual(later.body);
  });

  it('gets its first expiry back, although a statement with this expiry exists', async () => {
    const key = await newKey();
    await certify(key);
    await certify(key, { expiresAt: '2036-01-01T00:00:00Z' });
    const { body } = await certify(key);
    expect(body.expiresAt).toBeUndefined();
    expect(gpgShows(body.certificate)).not.toContain(String(Date.parse('2036-01-01T00:00:00Z') / 1000));
  });

  it('states that it is revoked, and why', async () => {
    const key = await newKey();
    await certify(key);
    const { status, body } = await post(`/api/v1/signing-keys/${key.id}/openpgp/revocation`, {
      reason: 'retired',
      text: 'It had its time.',
    });
    expect({ status, body }).toMatchObject({ status: 200, body: { revocation: { status: 'SIGNED' } } });
    expect(gpgShows(body.certificate)).toMatch(/^pub:r:/m);
  });

  it('is replaced after a key rotation, with a new fingerprint', async () => {
    const key = await newKey();
    const before = await certify(key);
    expect((await post(`/api/v1/signing-keys/${key.id}/rotate`, {})).status).toBe(201);
    assertProblem(await shown(key), { status: 404, code: 'openpgp.none' });
    const after = await certify(key);
    expect(after.body).toMatchObject({ version: 2 });
    expect(after.body.fingerprint).not.toBe(before.body.fingerprint);
  });

  it('waits for approval per user ID if the key requires it', async () => {
    const key = await newKey();
    const approver = await requireApproval({ stage, service, apiKey }, key.name);
    const { status, body } = await certify(key);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { userIds: [{ userId: USER, status: 'PENDING_APPROVAL' }] },
    });
    expect(body.certificate).toBeUndefined();
    const [{ approvalId, requestId }] = body.userIds as [{ approvalId: string; requestId: string }];
    const approval = await service.call('GET', `/api/v1/approvals/${approvalId}`, { key: apiKey });
    expect(JSON.stringify(approval.body)).toContain('OpenPGP certification');
    expect((await certify(key)).body.userIds).toEqual(body.userIds);
    await vote(service, approvalId, approver);
    await read(service, apiKey, requestId);
    expect(gpgShows((await shown(key)).body.certificate)).toMatch(/^sig:!:/m);
  });

  it('can be requested again after a rejection', async () => {
    const key = await newKey();
    const approver = await requireApproval({ stage, service, apiKey }, key.name);
    const [{ approvalId, requestId }] = (await certify(key)).body.userIds as [
      { approvalId: string; requestId: string },
    ];
    await vote(service, approvalId, approver, { decision: 'reject', body: { comment: 'No.' } });
    expect((await shown(key)).body.userIds).toMatchObject([{ status: 'FAILED' }]);
    const [again] = (await certify(key)).body.userIds as [{ status: string; requestId: string }];
    expect(again.status).toBe('PENDING_APPROVAL');
    expect(again.requestId).not.toBe(requestId);
  });

  it('is refused for keys with another purpose, or a type that OpenPGP does not support', async () => {
    for (const purpose of [
      'signing',
      'code-signing',
      'documents',
      'ssh-login',
      'ssh-signatures',
      'tls-client',
      'timestamping',
    ])
      assertProblem(await certify(await newKey('ec-p256', purpose)), { status: 403, code: 'signing-key.purpose' });
  });
});

/** Inserts a statement about a key into the database, with an ID lower than any that the service assigns. */
async function insertStatement(key: Key, kind: string, digest: Buffer, content: Buffer): Promise<void> {
  await stage.sql(
    `INSERT INTO openpgp_statement (id, key_id, key_version, kind, user_id, hashed_part, algorithm, digest)
     VALUES ($1, $2, 1, $3, $4, $5, 'sha256', $6)`,
    [`00000000${randomUUID().slice(8)}`, key.id, kind, kind === 'certification' ? USER : null, content, digest],
  );
}

describe('an OpenPGP statement that was inserted into the database', () => {
  const digest = createHash('sha256').update('chosen by the attacker').digest();

  it('is not signed: the service composes the bytes to sign itself', async () => {
    const [key, other] = [await newKey(), await newKey()];
    await certify(other);
    // The service could have composed this hashed part, so only the digest reveals the attack.
    const [{ part } = { part: Buffer.alloc(0) }] = await stage.sql<{ part: Buffer }>(
      `SELECT hashed_part AS part FROM openpgp_statement WHERE key_id = $1`,
      [other.id],
    );
    const { fingerprint } = (await certify(key, { userIds: ['First <first@example.org>'] })).body;
    const own = Buffer.from(part);
    Buffer.from(fingerprint as string, 'hex').copy(own, own.indexOf(Buffer.from([22, 33, 4])) + 3);
    await insertStatement(key, 'certification', digest, own);
    const { status, body } = await certify(key);
    const signed = await stage.sql<{ digest: Buffer }>(`SELECT digest FROM signing_request WHERE key_id = $1`, [
      key.id,
    ]);
    expect(signed.some((one) => one.digest.equals(digest))).toBe(false);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { userIds: expect.arrayContaining([expect.objectContaining({ userId: USER, status: 'SIGNED' })]) },
    });
  });
});

/** Builds the hashed part of a signature; valid by default. */
function hashedPart(
  fingerprint: string,
  { version = 4, type = 0, algorithm = 19, hash = 8, at = Math.floor(Date.now() / 1000), more = Buffer.alloc(0) } = {},
): Buffer {
  const created = Buffer.from([5, 2, 0, 0, 0, 0]);
  created.writeUInt32BE(at, 2);
  const area = Buffer.concat([Buffer.from([22, 33, 4]), Buffer.from(fingerprint, 'hex'), created, more]);
  return Buffer.concat([Buffer.from([version, type, algorithm, hash, 0, area.length]), area]);
}

describe('the format openpgp', () => {
  let key: Key;
  let fingerprint: string;

  beforeAll(async () => {
    key = await newKey();
    ({ fingerprint } = (await certify(key)).body as { fingerprint: string });
  });

  const order = (content: Buffer | undefined, body: object = {}): Promise<Answer> => {
    const digest = digestOf(
      createHash('sha256')
        .update(content ?? '')
        .digest(),
    );
    return sign(service, { key: apiKey, body: { digest, key: key.name, format: 'openpgp', content: content?.toString('base64'), ...body } }); // prettier-ignore
  };

  it('returns a signature packet of the key version, which the service also verifies', async () => {
    const { status, body } = await order(hashedPart(fingerprint));
    expect({ status, body }).toMatchObject({ status: 200, body: { format: 'openpgp', scheme: 'ecdsa-raw' } });
    const packets = execFileSync('gpg', ['--homedir', home, '--list-packets'], {
      input: Buffer.from(body.signature, 'base64'),
      encoding: 'utf8',
    });
    expect(packets).toContain(`issuer key ID ${fingerprint.slice(-16)}`);
    const verified = await post('/api/v1/verify', { requestId: body.requestId });
    expect(verified.body).toMatchObject({ valid: true });
  });

  it('is not valid after its hashed part was changed', async () => {
    const part = hashedPart(fingerprint);
    const { body } = await order(part);
    const packet = Buffer.from(body.signature, 'base64');
    const at = packet.indexOf(part);
    const digest = digestOf(createHash('sha256').update(part).digest());
    // Offsets in the hashed part: signature type, signer fingerprint, creation time.
    for (const offset of [1, 9, 31]) {
      const changed = Buffer.from(packet);
      changed.writeUInt8(changed.readUInt8(at + offset) ^ 0x10, at + offset);
      const signature = changed.toString('base64');
      expect((await post('/api/v1/verify', { requestId: body.requestId, signature })).body.valid).toBe(false);
      // Without the request, the service cannot check the creation time, because the service does not have the document.
      if (offset === 31) continue;
      const alone = { digest, key: key.name, format: 'openpgp', signature };
      expect((await post('/api/v1/verify', alone)).body.valid).toBe(false);
    }
    const alone = { digest, key: key.name, format: 'openpgp', signature: body.signature };
    expect((await post('/api/v1/verify', alone)).body.valid).toBe(true);
  });

  it.each([
    ['no content', undefined, {}, 'content.missing'],
    ['a part that is cut short', (f: string) => hashedPart(f).subarray(0, -1), {}, 'content.unreadable'],
    [
      'a part with more behind it',
      (f: string) => Buffer.concat([hashedPart(f), Buffer.alloc(1)]),
      {},
      'content.unreadable',
    ],
    ['another version', (f: string) => hashedPart(f, { version: 6 }), {}, 'content.unreadable'],
    ['SHA-1', (f: string) => hashedPart(f, { hash: 2 }), {}, 'content.unreadable'],
    ['another hash than that of the request', (f: string) => hashedPart(f, { hash: 10 }), {}, 'openpgp.hash'],
    ['a certification', (f: string) => hashedPart(f, { type: 0x13 }), {}, 'openpgp.type'],
    ['a revocation', (f: string) => hashedPart(f, { type: 0x20 }), {}, 'openpgp.type'],
    ['the fingerprint of another key', () => hashedPart('00'.repeat(20)), {}, 'openpgp.other-key'],
    ['another kind of key', (f: string) => hashedPart(f, { algorithm: 1 }), {}, 'openpgp.other-key'],
    ['two fingerprints', (f: string) => hashedPart(f, { more: Buffer.concat([Buffer.from([22, 33, 4]), Buffer.from(f, 'hex')]) }), {}, 'openpgp.other-key'], // prettier-ignore
    ['a time before the key', (f: string) => hashedPart(f, { at: 1_000_000_000 }), {}, 'openpgp.time'],
    [
      'a time in the future',
      (f: string) => hashedPart(f, { at: Math.floor(Date.now() / 1000) + 3600 }),
      {},
      'openpgp.time',
    ],
    ['an expiry of two octets', (f: string) => hashedPart(f, { more: Buffer.from([3, 3, 0, 1]) }), {}, 'content.unreadable'], // prettier-ignore
    ['key flags', (f: string) => hashedPart(f, { more: Buffer.from([2, 27, 3]) }), {}, 'openpgp.subpacket'],
    ['another purpose', (f: string) => hashedPart(f), { purpose: 'documents' }, 'openpgp.format'],
  ] as const)('rejects %s before anything is signed', async (_, compose, body, code) => {
    const content = compose?.(fingerprint);
    const hash = createHash('sha256').update(content ?? '');
    const digest = digestOf(hash.digest());
    // Another test may have signed the same content within the same second.
    const before = stage.operationsOn(digest);
    assertProblem(await order(content, body), { status: 400, code });
    expect(stage.operationsOn(digest)).toBe(before);
  });

  it('is available to OpenPGP keys only, and they support no other format', async () => {
    const code = await newKey('ec-p256', 'code-signing');
    assertProblem(await order(hashedPart(fingerprint), { key: code.name }), {
      status: 403,
      code: 'signing-key.purpose',
    });
    const raw = { digest: digestOf('x'), key: key.name };
    for (const format of ['raw', 'jws', 'sigstore-bundle', 'dsse']) {
      assertProblem(await sign(service, { key: apiKey, body: { ...raw, format } }), {
        status: 403,
        code: 'signing-key.purpose',
      });
      assertProblem(await sign(service, { key: apiKey, body: { ...raw, format, purpose: 'openpgp' } }), { status: 400, code: 'openpgp.format' }); // prettier-ignore
    }
    assertProblem(await post('/api/v1/sign/batch', { key: key.name, purpose: 'openpgp', format: 'openpgp', items: [{ digest: digestOf('x') }] }), { status: 400, code: 'request.invalid' }); // prettier-ignore
  });

  it('is not signed by a key rotated after the approval', async () => {
    const other = await newKey();
    const { body } = await certify(other);
    const approver = await requireApproval({ stage, service, apiKey }, other.name);
    const held = await order(hashedPart(body.fingerprint), { key: other.name });
    expect(held.status).toBe(202);
    await post(`/api/v1/signing-keys/${other.id}/rotate`, { activate: 'now' });
    await vote(service, held.body.approvalId, approver);
    const now = await read(service, apiKey, held.body.requestId, 1);
    if (now.body.status === 'PENDING_APPROVAL') await vote(service, now.body.approvalId, approver);
    const ended = await read(service, apiKey, held.body.requestId, 20);
    expect(ended.body).toMatchObject({ status: 'FAILED', failure: { code: 'openpgp.other-key' } });
  });
});
