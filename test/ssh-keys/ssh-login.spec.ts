import { randomUUID } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unique } from '../approvals/approvers.js';
import { idOf, type Person, register } from '../auth/people.js';
import { exchange, newTrust, trustIssuer } from '../auth/workload-calls.js';
import { sealwright } from '../client/program.js';
import { GITHUB, KUBERNETES } from '../fakes/workload-claims.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import { logIn, type ManagedHost, SshFleet } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd, newClientKey } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const AUDIENCE = 'https://ssh.example';
const CA_FILE = '/root/user_ca.pub';
const KRL_FILE = '/root/revoked_keys';

describe.runIf(canRunSshd())('an SSH certificate by login rule', () => {
  const issuer = new WorkloadIssuer();
  let stage: Stage;
  let service: Service;
  let field: SshFleet;
  let at: ManagedHost;
  let authorityId: string;
  let apiKey: string;
  let ann: Person;

  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes', SVC_OUTBOUND_ALLOW: '127.0.0.0/8' } });
    field = new SshFleet(() => service, apiKey);
    ({ id: authorityId } = await field.ask('POST', '/v1/ssh-ca', { name: 'logins', kind: 'user', type: 'ec-p384' }));
    at = await field.addHost({ config: [`TrustedUserCAKeys ${CA_FILE}`, `RevokedKeys ${KRL_FILE}`] });
    const { body: trusted } = await service.call('GET', '/v1/ssh-ca/trusted-user-ca-keys');
    writeFileSync(join(at.sshd.home('root'), 'user_ca.pub'), trusted);
    await list();
    await issuer.start();
    const place = { service, key: apiKey };
    const { id } = await trustIssuer(place, { issuer: issuer.issuer });
    const conditions = [{ claim: 'iss', values: [issuer.issuer] }];
    await newTrust(place, id, { conditions, audience: AUDIENCE, scopes: ['ssh-ca:login'], keys: [] });
    ann = await register(service, 'ann');
  });
  afterAll(async () => {
    await issuer.stop();
    await field.close();
    await stage.close();
  });

  /** Installs the current revocation list where sshd reads it. */
  async function list(): Promise<void> {
    const answer = await fetch(`${service.url}/v1/ssh-ca/${authorityId}/krl`);
    writeFileSync(join(at.sshd.home('root'), 'revoked_keys'), Buffer.from(await answer.arrayBuffer()));
  }

  async function rule(order: object): Promise<{ id: string; name: string }> {
    const usual = { name: unique('rule'), authorityId, subject: 'workload', principals: ['deploy'], lifeSeconds: 600 };
    return field.ask('POST', '/v1/ssh-login-rules', { ...usual, ...order });
  }
  const drop = ({ id }: { id: string }) => service.call('DELETE', `/v1/ssh-login-rules/${id}`, { key: apiKey });
  const runOf = async (claims: object) =>
    (await exchange(service, await issuer.tokenFor({ ...claims }, AUDIENCE))).body.access_token as string;

  let keys = 0;
  /** Creates a key and requests a certificate for it as this caller. */
  async function loggedIn(token: string) {
    const key = newClientKey(field.directory, `login-${(keys += 1)}`);
    const answer = await service.call('POST', '/v1/ssh-login', { key: token, body: { publicKey: key.publicKey } });
    if (answer.status === 201) writeFileSync(`${key.file}-cert.pub`, `${answer.body.certificate}\n`);
    return { ...key, answer };
  }

  const RELEASE = [{ claim: 'repository', values: ['octo-org/octo-repo'] }];

  it('logs a job in by the claims of its token, as defined by the rule, without interaction', async () => {
    const made = await rule({ conditions: RELEASE, forceCommand: 'true', bindAddress: true });
    const { file, answer } = await loggedIn(await runOf(GITHUB));
    const requestedBy = expect.stringContaining(GITHUB.sub);
    expect(answer.body).toMatchObject({ status: 'ISSUED', principals: ['deploy'], requestedBy });
    const text = execFileSync('ssh-keygen', ['-L', '-f', `${file}-cert.pub`], { encoding: 'utf8' });
    expect(text.replaceAll(/\s+/g, ' ')).toContain('force-command true source-address 127.0.0.1');
    expect(text).toContain('using ecdsa-sha2-nistp384');
    // A forced command alone would leave forwarding enabled, so a rule that specifies no extensions grants no extensions.
    expect(text).toContain('Extensions: (none)');
    expect(await logIn(at, file)).toBe('accepted');
    expect(at.sshd.log()).toContain(GITHUB.sub);
    assertProblem((await loggedIn(await runOf({ ...GITHUB, repository: 'octo-org/octo-repo-evil' }))).answer, {
      status: 403,
      code: 'ssh-login.no-rule',
    });
    await drop(made);
  });

  it('names the account from a claim, and logs nobody in as another account', async () => {
    const made = await rule({
      conditions: [{ claim: '/kubernetes.io/namespace', values: ['release'] }],
      principals: ['de{/kubernetes.io/serviceaccount/name}'],
    });
    const { file, answer } = await loggedIn(await runOf(KUBERNETES));
    expect(answer.body.principals).toEqual(['designer']);
    expect(await logIn(at, file)).toBe('denied');
    const deploy = { namespace: 'release', serviceaccount: { name: 'ploy' } };
    expect(await logIn(at, (await loggedIn(await runOf({ ...KUBERNETES, 'kubernetes.io': deploy }))).file)).toBe(
      'accepted',
    );
    const image = { namespace: 'release', serviceaccount: { name: 'bian' } };
    assertProblem((await loggedIn(await runOf({ ...KUBERNETES, 'kubernetes.io': image }))).answer, {
      status: 403,
      code: 'ssh-login.principal',
    });
    await drop(made);
  });

  it('grants no login from another address, when revoked, or when expired', async () => {
    const elsewhere = await rule({ conditions: RELEASE, sourceAddress: '192.0.2.0/24' });
    expect(await logIn(at, (await loggedIn(await runOf(GITHUB))).file)).toBe('denied');
    await drop(elsewhere);
    const made = await rule({ conditions: RELEASE });
    const { file, answer } = await loggedIn(await runOf(GITHUB));
    expect(await logIn(at, file)).toBe('accepted');
    const revocation = { kind: 'serial', value: answer.body.serial };
    await field.ask('POST', `/v1/ssh-ca/${authorityId}/revocations`, revocation);
    await list();
    expect(await logIn(at, file)).toBe('denied');
    const last = await loggedIn(await runOf(GITHUB));
    expect(Date.parse(last.answer.body.validBefore) - Date.now()).toBeLessThanOrEqual(600_000);
    // Sets a shorter lifetime than a rule allows, because sshd uses the real clock and the test should not wait for a minute.
    await stage.sql(`ALTER TABLE ssh_login_rule DROP CONSTRAINT ssh_login_rule_life`);
    await stage.change(`UPDATE ssh_login_rule SET life_seconds = 8 WHERE id = $1`, [made.id]);
    const short = await loggedIn(await runOf(GITHUB));
    expect(await logIn(at, short.file)).toBe('accepted');
    await sleep(Date.parse(short.answer.body.validBefore) - Date.now() + 1500);
    expect(await logIn(at, short.file)).toBe('denied');
    await drop(made);
  }, 120_000);

  it('is for people too: "sealwright ssh login" writes it where ssh finds it', async () => {
    const made = await rule({ subject: 'person', conditions: [{ claim: 'email', values: [ann.email] }] });
    const key = newClientKey(field.directory, 'ann');
    const as = ({ accessToken }: Person) => ({ SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: accessToken });
    const ended = await sealwright(['ssh', 'login', '--key', key.file], { env: as(ann) });
    expect(ended).toMatchObject({ code: 0, out: expect.stringMatching(/-cert\.pub for deploy until /) });
    expect(await logIn(at, key.file)).toBe('accepted');
    // A person gets a terminal unless the rule excludes the extension, in which case the command reports that there is no terminal.
    expect(ended.err).not.toContain('no terminal');
    const text = execFileSync('ssh-keygen', ['-L', '-f', `${key.file}-cert.pub`], { encoding: 'utf8' });
    expect(text).toMatch(/Extensions: \n\s+permit-pty\n/);
    const bare = await rule({
      subject: 'person',
      conditions: [{ claim: 'email', values: [ann.email] }],
      extensions: [],
    });
    const without = await sealwright(['ssh', 'login', '--key', key.file, '--rule', bare.name], { env: as(ann) });
    expect(without).toMatchObject({ code: 0, err: expect.stringContaining('add permit-pty to the extensions') });
    await drop(bare);
    const bob = await register(service, 'bob');
    expect(await sealwright(['ssh', 'login', '--key', key.file], { env: as(bob) })).toMatchObject({ code: 4 });
    await drop(made);
  });

  it('names the account from the local part of an address, including dots', async () => {
    const dotted = await register(service, 'ann.marie');
    const made = await rule({ subject: 'person', principals: ['{email:local}'], conditions: [{ claim: 'email', values: [dotted.email] }] }); // prettier-ignore
    expect((await loggedIn(dotted.accessToken)).answer.body).toMatchObject({
      principals: [dotted.email.split('@')[0]],
    });
    await drop(made);
  });

  it('is for people of the identity provider named in the rule, whatever address another provider sends', async () => {
    const person = await register(service, 'provided');
    const id = await idOf(stage, person.email);
    const about = [
      { claim: 'email', values: [person.email] },
      { claim: 'provider', values: ['corporate'] },
    ];
    const made = await rule({ subject: 'person', conditions: about });
    const login = async () => (await loggedIn(person.accessToken)).answer;
    assertProblem(await login(), { status: 403, code: 'ssh-login.no-rule' });
    const provider = async (name: string, enabled: boolean) => {
      const settings = { issuer: `https://${name}.example.com`, clientId: 'x', scopes: [] };
      await stage.change(
        `INSERT INTO identity_provider (id, name, kind, label, enabled, settings, rules) VALUES (gen_random_uuid(), $1, 'oidc', 'x', $2, $3, '[]')`,
        [name, enabled, settings],
      );
      await stage.change(
        `INSERT INTO external_identity (provider_id, subject, user_id, groups) SELECT id, 'ann', $1, '{}' FROM identity_provider WHERE name = $2`,
        [id, name],
      );
    };
    await provider('elsewhere', true);
    assertProblem(await login(), { status: 403, code: 'ssh-login.no-rule' });
    await provider('corporate', false);
    assertProblem(await login(), { status: 403, code: 'ssh-login.no-rule' });
    await stage.change(`UPDATE identity_provider SET enabled = true WHERE name = 'corporate'`, []);
    const unnamed = await rule({ subject: 'person', conditions: about.slice(0, 1) });
    expect((await login()).status).toBe(201);
    await drop(made);
    assertProblem(await login(), { status: 403, code: 'ssh-login.no-rule' });
    await drop(unnamed);
  });

  it('is not issued by a rule that does not name the issuer while several are enabled', async () => {
    const other = new WorkloadIssuer();
    await other.start();
    const { id } = await trustIssuer({ service, key: apiKey }, { issuer: other.issuer });
    const made = await rule({ conditions: RELEASE });
    const named = await rule({ conditions: [...RELEASE, { claim: 'iss', values: [issuer.issuer] }] });
    const { answer } = await loggedIn(await runOf(GITHUB));
    expect(answer.status).toBe(201);
    await Promise.all([made, named].map(drop));
    await Promise.all([service.call('DELETE', `/api/settings/workload-issuers/${id}`, { key: apiKey }), other.stop()]);
  });

  it('is not issued to API keys, and only by an existing SSH CA', async () => {
    const key = newClientKey(field.directory, 'nobody');
    const answer = await service.call('POST', '/v1/ssh-login', { key: apiKey, body: { publicKey: key.publicKey } });
    assertProblem(answer, { status: 403, code: 'ssh-login.nobody' });
    const usual = { name: 'x', authorityId: randomUUID(), subject: 'person', conditions: RELEASE, principals: ['a'], lifeSeconds: 60 }; // prettier-ignore
    const bare = { ...usual, authorityId, subject: 'workload', principals: ['a', '{sub}'] };
    for (const [what, body] of Object.entries({ authority: usual, principal: bare })) {
      const refused = await service.call('POST', '/v1/ssh-login-rules', { key: apiKey, body });
      assertProblem(refused, { status: 422, code: `ssh-login-rule.${what}` });
    }
  });

  it('requires a rule whose author may issue certificates', async () => {
    const made = await rule({ conditions: RELEASE });
    const { key } = await newApiKey(service, apiKey, ['ssh-ca:write']);
    const order = { name: unique('rule'), authorityId, subject: 'person', conditions: RELEASE, principals: ['root'] };
    const body = { ...order, lifeSeconds: 60 };
    const never = { status: 403, code: 'insufficient_scope' };
    assertProblem(await service.call('POST', '/v1/ssh-login-rules', { key, body }), never);
    const put = { key, body, headers: { 'if-match': '"1"' } };
    assertProblem(await service.call('PUT', `/v1/ssh-login-rules/${made.id}`, put), never);
    await drop(made);
  });

  describe('with "sealwright ssh setup-host"', () => {
    const env = () => ({ SEALWRIGHT_URL: service.url });
    const configOf = ({ sshd }: ManagedHost) => join(sshd.directory, 'sshd_config');
    const setUp = (host: ManagedHost, ...more: string[]) =>
      sealwright(['ssh', 'setup-host', '--config', configOf(host), ...more], { env: env() });
    const as = (token: string) => ({ SEALWRIGHT_URL: service.url, SEALWRIGHT_TOKEN: token });

    /** Reports whether ssh accepts the host under `name` with only the authorities in known_hosts. */
    async function isKnownAs({ sshd }: ManagedHost, name: string, known: string): Promise<boolean> {
      const file = join(field.directory, 'known_hosts');
      writeFileSync(file, known);
      const options = [`UserKnownHostsFile=${file}`, 'GlobalKnownHostsFile=/dev/null', `HostKeyAlias=${name}`, 'StrictHostKeyChecking=yes', 'BatchMode=yes']; // prettier-ignore
      const place = ['-v', '-p', String(sshd.port), `nobody@${sshd.address}`];
      const { stderr } = spawnSync('ssh', ['-F', '/dev/null', ...options.flatMap((one) => ['-o', one]), ...place], { encoding: 'utf8' }); // prettier-ignore
      return stderr.includes('Authentications that can continue');
    }

    it('the host presents a certificate of the host CA, keeps it, and its renewal is explained', async () => {
      const host = await field.addHost();
      const { name } = await field.ask('POST', '/v1/ssh-ca', { name: unique('machines'), kind: 'host' });
      const { body: known } = await service.call('GET', '/v1/ssh-ca/known-hosts');
      const order = ['ssh', 'setup-host', '--config', configOf(host), '--host-certificate', '--authority', name, '--names', 'web-7.example.org,web-7']; // prettier-ignore
      const file = join(host.sshd.directory, 'host_ed25519-cert.pub');
      const trial = await sealwright([...order, '--dry-run'], { env: as(apiKey) });
      expect(trial).toMatchObject({ code: 0, out: expect.stringContaining(`${file} would be added`) });
      expect(existsSync(file)).toBe(false);
      expect(await sealwright(order, { env: as(apiKey) })).toMatchObject({
        code: 0,
        out: expect.stringContaining(`${file} added`),
        err: expect.stringMatching(
          /expires on \d{4}-\d\d-\d\d\. Run "sealwright ssh renew .*host_ed25519" from a daily timer/,
        ),
      });
      await until('the certificate is shown', 20, () => isKnownAs(host, 'web-7.example.org', known));
      expect(await isKnownAs(host, 'web-7', known)).toBe(true);
      expect(await isKnownAs(host, 'web-8.example.org', known)).toBe(false);
      const certificate = readFileSync(file, 'utf8');
      for (const again of [order, order.slice(0, 4)])
        expect(await sealwright(again, { env: as(apiKey) })).toMatchObject({ code: 0, out: '', err: expect.stringMatching(/already/) }); // prettier-ignore
      expect(readFileSync(file, 'utf8')).toBe(certificate);
      const renewal = await sealwright(['ssh', 'renew', join(host.sshd.directory, 'host_ed25519')], { env: env() });
      expect(renewal).toMatchObject({ code: 0, err: expect.stringContaining('is not due for renewal before') });
    });

    it('the host is unchanged when the host CA is a different one, or refuses', async () => {
      const host = await field.addHost();
      const before = readdirSync(host.sshd.directory);
      const order = ['ssh', 'setup-host', '--config', configOf(host), '--host-certificate', '--authority'];
      for (const [name, code, said] of [
        ['logins', 2, 'is for users'],
        ['nowhere', 1, 'SSH authority "nowhere" not found'],
      ] as const)
        expect(await sealwright([...order, name], { env: as(apiKey) })).toMatchObject({ code, err: expect.stringContaining(said) }); // prettier-ignore
      const { key } = await newApiKey(service, apiKey, ['keys:read']);
      const { name } = await field.ask('POST', '/v1/ssh-ca', { name: unique('machines'), kind: 'host' });
      expect(await sealwright([...order, name], { env: as(key) })).toMatchObject({ code: 4 });
      expect(await setUp(host, '--names', 'web-1')).toMatchObject({ code: 2, err: expect.stringContaining('--names has no effect') }); // prettier-ignore
      expect(readdirSync(host.sshd.directory)).toEqual(before);
    });

    it('the host refuses everybody while its key revocation list is missing, until it is set up again', async () => {
      const host = await field.addHost({ config: ['StrictModes no'] });
      expect((await setUp(host)).code).toBe(0);
      const made = await rule({ conditions: RELEASE });
      const { file } = await loggedIn(await runOf(GITHUB));
      await until('the login', 20, async () => (await logIn(host, file)) === 'accepted');
      rmSync(join(host.sshd.directory, 'sealwright_revoked_keys'));
      expect(await logIn(host, file)).toBe('denied');
      expect((await setUp(host)).out.trim()).toMatch(/sealwright_revoked_keys added$/);
      await until('the login', 20, async () => (await logIn(host, file)) === 'accepted');
      await drop(made);
    });

    it('the host accepts certificates for the listed principals, refuses revoked ones, and is set up once', async () => {
      // The configuration is below /tmp, where StrictModes would reject the principals file.
      const host = await field.addHost({ users: ['deploy', 'ops'], config: ['StrictModes no'] });
      const made = await rule({ conditions: RELEASE, principals: ['release-team'] });
      const { file, answer } = await loggedIn(await runOf(GITHUB));
      expect(await logIn(host, file)).toBe('denied');
      const before = readFileSync(configOf(host), 'utf8');
      const trial = await setUp(host, 'deploy=release-team', '--dry-run');
      expect(trial).toMatchObject({ code: 0, out: expect.stringContaining('sshd_config would be changed') });
      expect(readFileSync(configOf(host), 'utf8')).toBe(before);
      expect(await setUp(host, 'deploy=release-team')).toMatchObject({ code: 0, err: '' });
      await until('the login', 20, async () => (await logIn(host, file)) === 'accepted');
      expect(await logIn(host, file, 'ops')).toBe('denied');
      expect(await setUp(host, 'deploy=release-team')).toMatchObject({
        code: 0,
        out: '',
        err: expect.stringMatching(/already/),
      });
      const revocation = { kind: 'serial', value: answer.body.serial };
      await field.ask('POST', `/v1/ssh-ca/${authorityId}/revocations`, revocation);
      const again = await setUp(host, 'deploy=release-team');
      expect(again.out.trim().split('\n')).toEqual([expect.stringMatching(/sealwright_revoked_keys changed$/)]);
      expect(await logIn(host, file)).toBe('denied');
      await drop(made);
    });

    it.each([
      [
        'a configuration that sshd refuses',
        ['NoSuchDirective yes'],
        [],
        /Nothing was changed.*NoSuchDirective|sshd.*NoSuchDirective/s,
      ],
      [
        'an authority that is set already',
        ['TrustedUserCAKeys /etc/ssh/own_ca.pub'],
        [],
        /sets TrustedUserCAKeys to \/etc\/ssh\/own_ca\.pub/,
      ],
      ['a reload that fails', ['PidFile none'], [], /Nothing was changed.*Could not reload sshd/s],
    ])('the host is unchanged by %s', async (_case, lines, more, reason) => {
      const host = await field.addHost();
      const file = configOf(host);
      writeFileSync(file, `${lines.join('\n')}\n${readFileSync(file, 'utf8')}`);
      const [before, names] = [readFileSync(file, 'utf8'), readdirSync(host.sshd.directory)];
      expect(await setUp(host, ...more)).toMatchObject({ code: 1, err: expect.stringMatching(reason) });
      expect(readFileSync(file, 'utf8')).toBe(before);
      expect(readdirSync(host.sshd.directory)).toEqual(names);
    });

    it('arguments that are not ACCOUNT=PRINCIPALS are rejected before anything is read', async () => {
      for (const word of ['deploy', 'deploy=', '../x=a', 'deploy=a b'])
        expect(await setUp(at, word)).toMatchObject({ code: 2, err: expect.stringContaining(`"${word}"`) });
    });

    // This test runs last in this file, because no user authority remains afterwards.
    it('the host trusts nobody once the last CA was retired, and hosts never set up are unaffected', async () => {
      const host = await field.addHost({ config: ['StrictModes no'] });
      expect((await setUp(host)).code).toBe(0);
      const made = await rule({ conditions: RELEASE });
      const { file } = await loggedIn(await runOf(GITHUB));
      await until('the login', 20, async () => (await logIn(host, file)) === 'accepted');
      await drop(made);
      for (const state of ['RETIRING', 'RETIRED'])
        await field.ask('POST', `/v1/ssh-ca/${authorityId}/retire`, { state });
      expect(await setUp(host)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/sealwright_user_ca\.pub changed/),
      });
      await until('the refusal', 20, async () => (await logIn(host, file)) === 'denied');
      const fresh = await field.addHost();
      expect(await setUp(fresh)).toMatchObject({ code: 1, err: expect.stringContaining('no SSH authority for users') });
    });
  });
});
