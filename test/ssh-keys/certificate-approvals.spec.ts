import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { newGroup, newTeam, openApprovalFixture, unique, vote } from '../approvals/approvers.js';
import { assertProblem } from '../support/refused-calls.js';
import { until } from '../support/signing.js';
import { newClientKey } from '../support/sshd.js';

const HOUR = 3600 * 1000;
const place = await openApprovalFixture();
const { service, stage, apiKey } = place;
const directory = mkdtempSync(join(tmpdir(), 'sealwright-certificates-'));
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await place.stage.close();
});
const { ann, bea } = await newTeam(place, 'ann', 'bea');
const group = (await newGroup(place, [ann, bea])).body.name as string;
const call = (method: string, path: string, body?: object, headers?: Record<string, string>) =>
  service.call(method, path, { key: apiKey, body, headers });

async function newAuthority(name = unique('people')): Promise<string> {
  return (await call('POST', '/v1/ssh-ca', { name, kind: 'user' })).body.id as string;
}

const policyOn = (authority: string, asked: string) => ({
  name: unique('policy'),
  subject: 'ssh-certificate',
  keys: [authority],
  stages: [{ group: asked, threshold: 1 }],
});

async function authorityUnder(policy: object): Promise<string> {
  const name = unique('people');
  const id = await newAuthority(name);
  const body = { ...policyOn(name, group), ...policy };
  expect((await call('POST', '/api/v1/approval-policies', body)).status).toBe(201);
  return id;
}

let keys = 0;
function orderFor(principals: readonly string[], more: object = {}) {
  const { publicKey } = newClientKey(directory, `key-${(keys += 1)}`);
  const [validAfter, validBefore] = [-HOUR, HOUR].map((by) => new Date(Date.now() + by).toISOString());
  return { publicKey, keyId: 'ann@example.org', principals, validAfter, validBefore, ...more };
}
const ask = (id: string, order: object, headers?: Record<string, string>) =>
  call('POST', `/v1/ssh-ca/${id}/certificates`, order, headers);
const settled = (location: string) =>
  until('the certificate', 30, async () => {
    const { body } = await call('GET', location);
    return ['ISSUED', 'FAILED'].includes(body.status) ? body : undefined;
  });

describe('an SSH certificate under an approval policy', () => {
  it('is issued after the required people approve its content', async () => {
    const authority = await authorityUnder({});
    const restrictions = { sourceAddress: '192.0.2.0/24', forceCommand: '/usr/bin/backup' };
    const order = orderFor(['deploy'], restrictions);
    const asked = await ask(authority, order);
    expect(asked.status).toBe(202);
    expect(asked.body).toMatchObject({ status: 'PENDING_APPROVAL', certificate: '', principals: ['deploy'] });
    const { body: approval } = await call('GET', `/api/v1/approvals/${asked.body.approvalId}`);
    expect(approval.subject).toEqual({ kind: 'ssh-certificate', id: asked.body.id });
    expect(approval.shown).toMatchObject({
      operation: 'ssh-certificate',
      publicKey: order.publicKey.split(' ').slice(0, 2).join(' '),
      keyId: order.keyId,
      principals: ['deploy'],
      ...restrictions,
      extensions: ['permit-pty'],
    });
    expect((await vote(service, asked.body.approvalId, ann)).status).toBe(200);
    const issued = await settled(asked.headers.get('location') ?? '');
    expect(issued).toMatchObject({ status: 'ISSUED', serial: asked.body.serial });
    const file = join(directory, 'issued-cert.pub');
    writeFileSync(file, `${issued.certificate}\n`);
    const text = execFileSync('ssh-keygen', ['-L', '-f', file], { encoding: 'utf8' }).replaceAll(/\s+/g, ' ');
    expect(text).toContain(`Serial: ${issued.serial}`);
    expect(text).toContain(
      'Principals: deploy Critical Options: force-command /usr/bin/backup source-address 192.0.2.0/24',
    );
  });

  it('cannot hide a guarded principal next to a harmless one', async () => {
    const conditions = [{ fact: 'metadata.principal', op: 'not-in', values: ['deploy-*'] }];
    const authority = await authorityUnder({ conditions });
    expect((await ask(authority, orderFor(['deploy-web']))).body.status).toBe('ISSUED');
    expect((await ask(authority, orderFor(['deploy-web', 'root']))).body.status).toBe('PENDING_APPROVAL');
  });

  it('waits for the group of a policy created after the request', async () => {
    const name = unique('people');
    const authority = await newAuthority(name);
    const second = (await newGroup(place, [bea])).body.name as string;
    expect((await call('POST', '/api/v1/approval-policies', policyOn(name, group))).status).toBe(201);
    const asked = await ask(authority, orderFor(['deploy']));
    expect((await call('POST', '/api/v1/approval-policies', policyOn(name, second))).status).toBe(201);
    expect((await vote(service, asked.body.approvalId, ann)).body).toMatchObject({ status: 'PENDING', stage: 1 });
    expect((await vote(service, asked.body.approvalId, bea)).body).toMatchObject({ status: 'APPROVED' });
    expect(await settled(asked.headers.get('location') ?? '')).toMatchObject({ status: 'ISSUED' });
  });

  it('waits again under a policy that became stricter after its approval, and another vote signs it', async () => {
    const name = unique('people');
    const authority = await newAuthority(name);
    const second = (await newGroup(place, [bea])).body.name as string;
    expect((await call('POST', '/api/v1/approval-policies', policyOn(name, group))).status).toBe(201);
    const asked = await ask(authority, orderFor(['deploy']));
    const { approvalId } = asked.body;
    const location = asked.headers.get('location') ?? '';
    await vote(service, approvalId, ann);
    await settled(location);
    // Simulates a process that died between the last vote and the signature.
    await stage.sql(
      `UPDATE ssh_certificate SET status = 'READY', certificate = NULL, created_at = now() - interval '1 minute' WHERE id = $1`,
      [asked.body.id],
    );
    expect((await call('POST', '/api/v1/approval-policies', policyOn(name, second))).status).toBe(201);
    const again = await until('the approval is asked for again', 30, async () => {
      const { body } = await call('GET', location);
      return body.status === 'PENDING_APPROVAL' ? body : undefined;
    });
    expect(again).toMatchObject({ certificate: '', approvalId });
    expect((await vote(service, approvalId, bea)).body).toMatchObject({ status: 'APPROVED' });
    expect(await settled(location)).toMatchObject({ status: 'ISSUED' });
  });

  it('is never signed when rejected, or withdrawn by its requester', async () => {
    const authority = await authorityUnder({});
    const rejected = await ask(authority, orderFor(['root']));
    await vote(service, rejected.body.approvalId, ann, { decision: 'reject' });
    const withdrawn = await ask(authority, orderFor(['root']));
    expect((await call('POST', `/api/v1/approvals/${withdrawn.body.approvalId}/withdraw`)).status).toBeLessThan(300);
    for (const [answer, code] of [
      [rejected, 'approval.rejected'],
      [withdrawn, 'approval.withdrawn'],
    ] as const) {
      const end = await settled(answer.headers.get('location') ?? '');
      expect(end).toMatchObject({ status: 'FAILED', certificate: '', failure: { code } });
    }
  });

  it('is not signed if its row differs from what was approved', async () => {
    const authority = await authorityUnder({});
    const asked = await ask(authority, orderFor(['deploy']));
    await stage.sql(`UPDATE ssh_certificate SET principals = '{root}' WHERE id = $1`, [asked.body.id]);
    await vote(service, asked.body.approvalId, ann);
    const end = await settled(asked.headers.get('location') ?? '');
    expect(end).toMatchObject({ status: 'FAILED', certificate: '', failure: { code: 'approval.withdrawn' } });
  });

  it('is not signed if its row was detached from its approval', async () => {
    const authority = await authorityUnder({});
    const asked = await ask(authority, orderFor(['root']));
    await stage.sql(
      `UPDATE ssh_certificate SET status = 'READY', approval_id = NULL, created_at = now() - interval '1 minute' WHERE id = $1`,
      [asked.body.id],
    );
    const end = await settled(asked.headers.get('location') ?? '');
    expect(end).toMatchObject({ status: 'FAILED', failure: { code: 'ssh-ca.not-approved' } });
  });

  it('is not signed if a row was inserted with claims that no issuer proved', async () => {
    const unless = [{ fact: 'verified.repository', op: 'in', values: ['org/app'] }];
    const authority = await authorityUnder({ unless });
    const asked = await ask(authority, orderFor(['root']));
    expect(asked.body.status).toBe('PENDING_APPROVAL');
    const [id, trust] = [randomUUID(), { id: randomUUID(), name: 'releases' }];
    const identity = { id, trust, claims: { repository: 'org/app' }, tokenSha256: '', keyThumbprint: '' };
    await stage.sql(
      `INSERT INTO ssh_certificate (id, authority_id, serial, key_id, fingerprint, principals, valid_after, valid_before, request, created_at)
       SELECT $2, authority_id, serial + 1000, key_id, fingerprint, principals, valid_after, valid_before, request || $3::jsonb,
         now() - interval '1 minute' FROM ssh_certificate WHERE id = $1`,
      [asked.body.id, id, JSON.stringify({ identity })],
    );
    const end = await settled(`/v1/ssh-ca/${authority}/certificates/${id}`);
    expect(end).toMatchObject({ status: 'FAILED', certificate: '', failure: { code: 'ssh-ca.not-approved' } });
  });

  it('is not signed if a row was inserted without a request, or its command was changed, even without a policy', async () => {
    const authority = await newAuthority();
    const issued = await ask(authority, orderFor(['deploy'], { forceCommand: '/usr/bin/backup' }));
    expect(issued.body.status).toBe('ISSUED');
    const written = randomUUID();
    await stage.sql(
      `INSERT INTO ssh_certificate (id, authority_id, serial, key_id, fingerprint, principals, valid_after, valid_before, request, created_at)
       SELECT $2, authority_id, serial + 1000, key_id, fingerprint, '{root}', valid_after, valid_before, request,
         now() - interval '1 minute' FROM ssh_certificate WHERE id = $1`,
      [issued.body.id, written],
    );
    await stage.sql(
      `UPDATE ssh_certificate SET certificate = NULL, created_at = now() - interval '1 minute',
         request = request || '{"forceCommand": null}' WHERE id = $1`,
      [issued.body.id],
    );
    for (const id of [written, issued.body.id]) {
      const end = await settled(`/v1/ssh-ca/${authority}/certificates/${id}`);
      expect(end).toMatchObject({ status: 'FAILED', certificate: '', failure: { code: 'ssh-ca.not-approved' } });
    }
  });

  it('is signed by another process when the one that released it died', async () => {
    const authority = await authorityUnder({});
    const asked = await ask(authority, orderFor(['deploy']));
    const other = await stage.start({ role: 'api' });
    await stage.sql(`UPDATE ssh_certificate SET created_at = now() - interval '1 minute' WHERE id = $1`, [
      asked.body.id,
    ]);
    await vote(other, asked.body.approvalId, bea);
    await other.kill('SIGKILL');
    expect(await settled(asked.headers.get('location') ?? '')).toMatchObject({ status: 'ISSUED' });
  });

  it('is requested once, however often the call is repeated', async () => {
    const authority = await authorityUnder({});
    const order = orderFor(['deploy']);
    const once = { 'idempotency-key': unique('once') };
    const answers = await Promise.all([1, 2, 3].map(() => ask(authority, order, once)));
    expect(new Set(answers.map(({ body }) => body.approvalId)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
  });

  it('cannot have a policy for an SSH CA that does not exist', async () => {
    const stages = [{ group, threshold: 1 }];
    const body = { name: unique('policy'), subject: 'ssh-certificate', keys: [unique('nobody')], stages };
    assertProblem(await call('POST', '/api/v1/approval-policies', body), { status: 422, code: 'approval-policy.key' });
  });

  it('is returned for its own SSH CA only', async () => {
    const [one, other] = [await newAuthority(), await newAuthority()];
    const { body } = await ask(one, orderFor(['deploy']));
    expect(body.status).toBe('ISSUED');
    assertProblem(await call('GET', `/v1/ssh-ca/${other}/certificates/${body.id}`), {
      status: 404,
      code: 'ssh-ca.no-certificate',
    });
  });
});
