import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renewalMessage, RENEWAL_NAMESPACE } from '../../src/formats/ssh/sshsig.js';
import { readCertificateLine } from '../../src/formats/ssh/certificate-reader.js';
import { newApprover, newGroup, newTeam, unique, vote } from '../approvals/approvers.js';
import { exchange, newTrust, trustIssuer } from '../auth/workload-calls.js';
import { sealwright } from '../client/program.js';
import { KUBERNETES } from '../fakes/workload-claims.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import { inDays } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { SshFleet } from '../support/rotations.js';
import { until } from '../support/signing.js';
import type { Service } from '../support/service.js';
import { canRunSshd, newClientKey, type Sshd, startSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const AUDIENCE = 'https://ssh.example';
const NAME = 'web-1.example.org';
const [DAY, HOUR] = [86_400_000, 3_600_000];
const at = (ms: number) => new Date(Date.now() + ms).toISOString();

describe.runIf(canRunSshd())('a host certificate', () => {
  const issuer = new WorkloadIssuer();
  let stage: Stage;
  let service: Service;
  let field: SshFleet;
  let sshd: Sshd;
  let authorityId: string;
  let apiKey: string;
  /** Path of the host key on this machine. */
  let hostKey: string;

  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes', SVC_OUTBOUND_ALLOW: '127.0.0.0/8' } });
    field = new SshFleet(() => service, apiKey);
    ({ id: authorityId } = await field.ask('POST', '/v1/ssh-ca', { name: 'hosts', kind: 'host' }));
    sshd = await startSshd();
    hostKey = join(sshd.directory, 'host_ed25519');
    appendFileSync(join(sshd.directory, 'sshd_config'), `HostCertificate ${hostKey}-cert.pub\n`);
    await issuer.start();
  });
  afterAll(async () => {
    await issuer.stop();
    await sshd.close();
    await field.close();
    await stage.close();
  });

  const order = (more: object = {}, key = sshd.hostKey('ed25519')) => ({
    publicKey: key,
    keyId: unique('web'),
    principals: [NAME],
    validAfter: at(-20 * DAY),
    validBefore: at(10 * DAY),
    renewal: { until: at(100 * DAY), sourceAddress: '127.0.0.1' },
    ...more,
  });
  const issue = (more: object = {}, key?: string) =>
    field.ask('POST', `/v1/ssh-ca/${authorityId}/certificates`, order(more, key));

  /** Sends a renewal call as a host does, with the current certificate and a signature created by ssh-keygen. */
  async function renew(certificate: string, key = hostKey) {
    const signedAt = new Date();
    const blob = readCertificateLine(certificate)?.blob ?? Buffer.alloc(0);
    const signature = execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-n', RENEWAL_NAMESPACE, '-f', key], {
      input: renewalMessage(blob, signedAt),
      encoding: 'utf8',
    });
    return service.call('POST', '/v1/ssh-host-renewals', { body: { certificate, signedAt, signature } });
  }

  /** Reports whether ssh accepts the server under a name with only the CA in known_hosts. */
  async function isKnownAs(name: string): Promise<boolean> {
    const known = join(field.directory, 'known_hosts');
    writeFileSync(known, (await service.call('GET', '/v1/ssh-ca/known-hosts')).body);
    const options = [
      `UserKnownHostsFile=${known}`,
      `HostKeyAlias=${name}`,
      'StrictHostKeyChecking=yes',
      'BatchMode=yes',
      'GlobalKnownHostsFile=/dev/null',
    ];
    const args = [
      '-F',
      '/dev/null',
      ...options.flatMap((one) => ['-o', one]),
      '-v',
      '-p',
      String(sshd.port),
      `nobody@${sshd.address}`,
    ];
    const { stderr } = spawnSync('ssh', args, { encoding: 'utf8' });
    return stderr.includes('Authentications that can continue');
  }

  const certificateNow = () => readFileSync(`${hostKey}-cert.pub`, 'utf8');
  async function use(certificate: string): Promise<void> {
    writeFileSync(`${hostKey}-cert.pub`, `${certificate}\n`);
    await sshd.stop();
    await sshd.start();
  }

  it('is not renewed when its row differs from the log', async () => {
    const later = `request = jsonb_set(request, '{renewal,until}', '"2099-01-01T00:00:00Z"')`;
    for (const change of [`principals = '{db-1.example.org}'`, `key_id = 'db-1'`, later]) {
      const { id, certificate } = await issue();
      await stage.sql(`UPDATE ssh_certificate SET ${change} WHERE id = $1`, [id]);
      assertProblem(await renew(certificate), { status: 403, code: 'ssh-renewal.unknown' });
    }
  });

  it('is renewed by "sealwright ssh renew" with its key only, and ssh trusts the host by it', async () => {
    const first = await issue();
    await use(first.certificate);
    expect(await isKnownAs(NAME)).toBe(true);
    expect(await isKnownAs('other.example.org')).toBe(false);
    const early = await issue({ validAfter: at(-DAY) });
    writeFileSync(`${hostKey}-cert.pub`, early.certificate);
    const env = { SEALWRIGHT_URL: service.url };
    expect(await sealwright(['ssh', 'renew', hostKey], { env })).toMatchObject({
      code: 0,
      err: expect.stringContaining('is not due for renewal before'),
    });
    expect(certificateNow()).toBe(early.certificate);
    writeFileSync(`${hostKey}-cert.pub`, first.certificate);
    expect(await sealwright(['ssh', 'renew', '--now', hostKey], { env })).toMatchObject({ code: 0 });
    const next = readCertificateLine(certificateNow());
    const before = readCertificateLine(first.certificate);
    expect(next).toMatchObject({ kind: 'host', keyId: first.keyId, principals: [NAME], key: before?.key });
    expect(next?.validBefore.getTime()).toBeGreaterThan(Date.now() + 29 * DAY);
    await use(certificateNow().trim());
    expect(await isKnownAs(NAME)).toBe(true);
    const { body } = await service.call('GET', `/v1/ssh-ca/${authorityId}/certificates`, { key: apiKey });
    expect(body.items.find(({ serial }: { serial: string }) => serial === String(next?.serial))).toMatchObject({
      renews: first.id,
      renewableUntil: expect.any(String),
    });
  });

  it('keeps all names on renewal', async () => {
    const principals = [NAME, 'web-1', '192.0.2.7', '*.cluster.example.org'];
    const first = await issue({ principals });
    const { body } = await renew(first.certificate);
    expect(readCertificateLine(body.certificate)).toMatchObject({ kind: 'host', keyId: first.keyId, principals });
  });

  it('is not renewed without renewal terms, and the command states what to request', async () => {
    writeFileSync(`${hostKey}-cert.pub`, (await issue({ renewal: undefined })).certificate);
    const env = { SEALWRIGHT_URL: service.url };
    expect(await sealwright(['ssh', 'renew', hostKey], { env })).toMatchObject({
      code: 4,
      err: expect.stringMatching(/renewal.*Request a new one|Request a new one/),
    });
  });

  it('is renewed once: a repeated call, even ten concurrently, returns the same certificate', async () => {
    const first = await issue();
    const answers = await Promise.all(Array.from({ length: 10 }, () => renew(first.certificate)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ body }) => body.serial)).size).toBe(1);
    assertProblem(await renew(answers[0]?.body.certificate), { status: 409, code: 'ssh-renewal.early' });
  });

  it('is not renewed again when the row of its successor no longer names it', async () => {
    const first = await issue();
    const { body: next } = await renew(first.certificate);
    const body = { kind: 'serial', value: next.serial };
    await field.ask('POST', `/v1/ssh-ca/${authorityId}/revocations`, body);
    for (const change of ['UPDATE ssh_certificate SET renews = NULL', 'DELETE FROM ssh_certificate']) {
      await stage.sql(`${change} WHERE id = $1`, [next.id]);
      assertProblem(await renew(first.certificate), { status: 409, code: 'ssh-renewal.renewed' });
    }
  });

  it('is not renewed without its key, when expired, revoked, from another address, or not renewable', async () => {
    const other = newClientKey(field.directory, 'other');
    const first = await issue();
    const forbidden = (code: string) => ({ status: 403, code });
    assertProblem(await renew(first.certificate, other.file), forbidden('ssh-renewal.proof'));
    const over = await issue({ validBefore: at(-HOUR) });
    assertProblem(await renew(over.certificate), forbidden('ssh-renewal.expired'));
    const elsewhere = await issue({ renewal: { until: at(100 * DAY), sourceAddress: '192.0.2.0/24' } });
    assertProblem(await renew(elsewhere.certificate), forbidden('ssh-renewal.address'));
    assertProblem(await renew((await issue({ renewal: undefined })).certificate), forbidden('ssh-renewal.terms'));
    const revoke = (kind: string, value: string) =>
      field.ask('POST', `/v1/ssh-ca/${authorityId}/revocations`, { kind, value });
    await revoke('serial', first.serial);
    assertProblem(await renew(first.certificate), forbidden('ssh-renewal.revoked'));
    const line = await issue({ keyId: 'gone' });
    const renewed = await renew(line.certificate);
    expect(renewed.status).toBe(201);
    await revoke('keyId', 'gone');
    assertProblem(await renew(line.certificate), forbidden('ssh-renewal.revoked'));
    // Signs a certificate with another key in the name of the authority. ssh-keygen does not check that the key belongs to the authority.
    const file = join(field.directory, 'forged');
    writeFileSync(`${file}.pub`, `${sshd.hostKey('ed25519')}\n`);
    execFileSync('ssh-keygen', [
      '-q',
      '-s',
      other.file,
      '-h',
      '-I',
      'x',
      '-n',
      NAME,
      '-z',
      first.serial,
      `${file}.pub`,
    ]);
    assertProblem(await renew(readFileSync(`${file}-cert.pub`, 'utf8').trim()), forbidden('ssh-renewal.unknown'));
  });

  it('is not renewed once its issuer lost the right; people are alerted, and one of them issues a new one', async () => {
    const leaver = await newApprover({ stage, service, apiKey }, ['admin']);
    const path = `/v1/ssh-ca/${authorityId}/certificates`;
    const { body: first } = await service.call('POST', path, { key: leaver.accessToken, body: order() });
    await field.ask('PATCH', `/api/settings/users/${leaver.id}`, { roles: ['viewer'] });
    assertProblem(await renew(first.certificate), { status: 403, code: 'ssh-renewal.paused' });
    const alerts = () => stage.sql<{ name: string }>(`SELECT subject_name AS name FROM alert`);
    await until('an alert about the host', 20, async () => (await alerts()).some(({ name }) => name === first.keyId));
    expect(await renew((await issue()).certificate)).toMatchObject({ status: 201 });
  });

  it('is not renewed for an API key that was revoked, nor for a person who saw it and left', async () => {
    const path = `/v1/ssh-ca/${authorityId}/certificates`;
    const own = await field.ask('POST', '/api/settings/api-keys', keyOrder());
    const { body: byOwn } = await service.call('POST', path, { key: own.key, body: order() });
    const renewed = await renew(byOwn.certificate);
    expect(renewed.status).toBe(201);
    await field.ask('DELETE', `/api/settings/api-keys/${own.id}`);
    assertProblem(await renew(byOwn.certificate), { status: 403, code: 'ssh-renewal.paused' });
    const [next] = await stage.sql<{ credential: string }>(
      `SELECT request -> 'renewal' ->> 'credential' AS credential FROM ssh_certificate WHERE id = $1`,
      [renewed.body.id],
    );
    expect(next?.credential).toBe(own.id);

    const leaver = await newApprover({ stage, service, apiKey }, ['admin']);
    const { id } = await field.ask('POST', '/api/settings/api-keys', keyOrder());
    const { expiry } = keyOrder();
    const rotate = { key: leaver.accessToken, body: { expiry, overlapHours: 1 } };
    const { body: handed } = await service.call('POST', `/api/settings/api-keys/${id}/rotate`, rotate);
    const { body: byHanded } = await service.call('POST', path, { key: handed.key, body: order() });
    await field.ask('PATCH', `/api/settings/users/${leaver.id}`, { disabled: true });
    assertProblem(await renew(byHanded.certificate), { status: 403, code: 'ssh-renewal.paused' });
  });

  const keyOrder = () => ({ name: unique('key'), permissions: ['admin:*'], expiry: inDays(1) });

  it('waits for approval if a policy requires it on renewal, which is shown as such', async () => {
    const people = await newTeam({ stage, service, apiKey }, 'ann', 'bea');
    const { body: group } = await newGroup({ service, apiKey }, [people.ann, people.bea]);
    const policy = {
      name: unique('policy'),
      subject: 'ssh-certificate',
      keys: ['hosts'],
      stages: [{ group: group.name, threshold: 1 }],
      conditions: [{ fact: 'metadata.renewal', op: 'in', values: ['true'] }],
    };
    const first = await issue();
    const made = await field.ask('POST', '/api/v1/approval-policies', policy);
    const waiting = await renew(first.certificate);
    expect(waiting).toMatchObject({ status: 202, body: { status: 'PENDING_APPROVAL', renews: first.id } });
    const { body } = await service.call('GET', `/api/v1/approvals/${waiting.body.approvalId}`, { key: apiKey });
    expect(body.shown).toMatchObject({ renews: first.id, principals: [NAME], renewal: { sourceAddress: '127.0.0.1' } });
    const tried = await field.ask('POST', '/api/v1/approval-policies/test', {
      certificateIds: [first.id, waiting.body.id],
    });
    expect(tried.results.map(({ needsApproval }: { needsApproval: boolean }) => needsApproval)).toEqual([false, true]);
    const uses = [false, true].map((renewal) => ({
      key: 'hosts',
      certificate: { principals: [NAME], kind: 'host', renewal },
    }));
    const thought = await field.ask('POST', '/api/v1/approval-policies/test', { uses });
    expect(thought.results.map(({ needsApproval }: { needsApproval: boolean }) => needsApproval)).toEqual([
      false,
      true,
    ]);
    await vote(service, waiting.body.approvalId, people.ann);
    expect((await renew(first.certificate)).body).toMatchObject({ status: 'ISSUED', id: waiting.body.id });
    await service.call('DELETE', `/api/v1/approval-policies/${made.id}`, { key: apiKey });
  });

  it('cannot be approved by anybody who could have requested the first certificate', async () => {
    const people = await newTeam({ stage, service, apiKey }, 'ann', 'bea');
    const eve = await newApprover({ stage, service, apiKey }, ['admin', 'approver']);
    const { body: group } = await newGroup({ service, apiKey }, [eve, people.ann]);
    const made = await field.ask('POST', '/api/v1/approval-policies', {
      name: unique('policy'),
      subject: 'ssh-certificate',
      keys: ['hosts'],
      stages: [{ group: group.name, threshold: 1 }],
      conditions: [{ fact: 'metadata.renewal', op: 'in', values: ['true'] }],
    });
    const { id } = await field.ask('POST', '/api/settings/api-keys', keyOrder());
    const rotate = { key: eve.accessToken, body: { expiry: inDays(1), overlapHours: 1 } };
    const { body: shown } = await service.call('POST', `/api/settings/api-keys/${id}/rotate`, rotate);
    const path = `/v1/ssh-ca/${authorityId}/certificates`;
    const { body: first } = await service.call('POST', path, { key: shown.key, body: order() });
    const waiting = await renew(first.certificate);
    expect(waiting.status).toBe(202);
    const never = { status: 403, code: 'approval.own-request' };
    assertProblem(await vote(service, waiting.body.approvalId, eve), never);
    expect((await vote(service, waiting.body.approvalId, people.ann)).body.status).toBe('APPROVED');
    await service.call('DELETE', `/api/v1/approval-policies/${made.id}`, { key: apiKey });
  });

  it('is issued to a machine by the claims of its token, which alone determine its name', async () => {
    const place = { service, key: apiKey };
    const { id } = await trustIssuer(place, { issuer: issuer.issuer });
    const conditions = [{ claim: 'iss', values: [issuer.issuer] }];
    await newTrust(place, id, { conditions, audience: AUDIENCE, scopes: ['ssh-ca:login'], keys: [] });
    const rule = {
      name: unique('machines'),
      authorityId,
      subject: 'workload',
      conditions: [{ claim: '/kubernetes.io/namespace', values: ['release'] }],
      principals: ['{/kubernetes.io/serviceaccount/name}.example.org'],
      lifeSeconds: 3600,
    };
    await field.ask('POST', '/v1/ssh-login-rules', rule);
    const { body } = await exchange(service, await issuer.tokenFor({ ...KUBERNETES }, AUDIENCE));
    const env = { SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: body.access_token };
    expect(await sealwright(['ssh', 'login', '--host', '--key', hostKey], { env })).toMatchObject({ code: 0 });
    await use(certificateNow().trim());
    expect(await isKnownAs('signer.example.org')).toBe(true);
    expect(await isKnownAs(NAME)).toBe(false);
    const claims = { ...KUBERNETES, 'kubernetes.io': { namespace: 'test', serviceaccount: { name: 'signer' } } };
    const other = await exchange(service, await issuer.tokenFor(claims, AUDIENCE));
    const asked = { key: other.body.access_token, body: { publicKey: sshd.hostKey('ed25519'), kind: 'host' } };
    assertProblem(await service.call('POST', '/v1/ssh-login', asked), { status: 403, code: 'ssh-login.no-rule' });
    const person = { ...rule, name: unique('x'), subject: 'person' };
    assertProblem(await service.call('POST', '/v1/ssh-login-rules', { key: apiKey, body: person }), {
      status: 422,
      code: 'ssh-login-rule.authority',
    });
  });
});
