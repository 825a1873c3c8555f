import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { login, type Person, register } from '../auth/people.js';
import { runToEnd, type Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { Load } from './load.js';

/**
 * Replaces secrets one by one under load. Two api processes and a worker are restarted in turn where necessary. Clients must not notice: every response is 2xx
 * and no connection is refused.
 */
const FIRST = 'the-first-secret-of-this-installation-0001';
const SECOND = 'the-second-secret-of-this-installation-002';

const hasOathtool = spawnSync('oathtool', ['--version']).status === 0;

let stage: Stage;
let apiKey: string;
let apis: Service[];
let worker: Service;
let person: Person;
let totp: string;
let files: Record<string, string>;

const settings = () => ({
  SVC_JWT_SECRET_FILE: files['secret'] ?? '',
  SVC_JWT_SECRET_PREVIOUS_FILE: files['previous'] ?? '',
  SVC_DATABASE_URL: '',
  SVC_DATABASE_URL_FILE: files['database'] ?? '',
});
const secrets = (present: string, previous = '') => {
  writeFileSync(files['secret'] ?? '', `${present}\n`);
  writeFileSync(files['previous'] ?? '', previous);
};
const codeOf = () => execFileSync('oathtool', ['--totp', '--base32', totp]).toString().trim();
/** Replaces each process as a rolling update does: the new process starts before the old process stops. */
async function roll(): Promise<void> {
  for (const [at, old] of apis.entries()) {
    apis[at] = await stage.start({ role: 'api', settings: settings() });
    await sleep(200);
    await old.kill('SIGTERM');
  }
  const next = await stage.start({ role: 'worker', settings: settings() });
  await worker.kill('SIGTERM');
  worker = next;
}
const load = () => new Load({ urls: () => apis.map(({ url }) => url), apiKey, accessToken: person.accessToken });
const first = () => apis[0] as Service;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  files = Object.fromEntries(
    ['secret', 'previous', 'database'].map((name) => [name, join(stage.token.directory, `setting-${name}`)]),
  );
  secrets(FIRST);
  writeFileSync(files['database'] ?? '', stage.databaseUrl);
  apis = [
    await stage.start({ role: 'api', settings: settings() }),
    await stage.start({ role: 'api', settings: settings() }),
  ];
  worker = await stage.start({ role: 'worker', settings: settings() });
  person = await register(first());
  if (!hasOathtool) return;
  const begun = await first().call('POST', '/api/auth/second-factors/totp', {
    key: person.accessToken,
    body: { name: 'phone' },
  });
  totp = begun.body.secret;
  const code = execFileSync('oathtool', [
    '--totp',
    '--base32',
    '--now',
    new Date(Date.now() - 30_000).toISOString(),
    totp,
  ])
    .toString()
    .trim();
  await first().call('POST', `/api/auth/second-factors/totp/${begun.body.id}/confirm`, {
    key: person.accessToken,
    body: { code },
  });
});
afterAll(() => stage.close());

describe('SVC_JWT_SECRET', () => {
  it('is rotated in two steps without visible effect', async () => {
    const clients = load();
    secrets(FIRST, SECOND);
    await roll();
    secrets(SECOND, FIRST);
    await roll();
    const { answers, noticed } = await clients.stop();
    console.info(`SVC_JWT_SECRET replaced: ${answers} answers, ${noticed.length} noticed`);
    expect(noticed).toEqual([]);
    expect(answers).toBeGreaterThan(100);
  });

  it('that was rotated out is required only for tokens issued before, not for enrolled factors', async () => {
    secrets(SECOND);
    await roll();
    expect((await first().call('GET', '/api/auth/me', { key: person.accessToken })).status).toBe(401);
    const { status } = hasOathtool
      ? await first().call('POST', '/api/auth/login', {
          body: { email: person.email, password: person.password, totp: codeOf() },
        })
      : await login(first(), person.email, person.password);
    expect(status).toBe(200);
    const { body } = await first().call('GET', '/actuator/health', { key: apiKey });
    expect(body.components.secrets).toMatchObject({ status: 'UP' });
  });
});

describe('enrolled second factors', () => {
  const sealedBy = async () => {
    const rows = await stage.sql<{ mark: string; key: string }>(
      `SELECT convert_from(substring(seed FROM 1 FOR 8), 'SQL_ASCII') AS mark, encode(substring(seed FROM 10 FOR 16), 'hex') AS key
       FROM second_factor WHERE seed IS NOT NULL`,
    );
    return rows;
  };

  it.runIf(hasOathtool)('are sealed by the HSM, and resealed when the sealing key is rotated', async () => {
    const [before] = await sealedBy();
    expect(before?.mark).toBe('sealhsm1');
    const clients = load();
    const said = await runToEnd(['rotate-sealing-key'], { ...stage.settings, SVC_JWT_SECRET: SECOND });
    expect(said).toContain('Re-encrypted');
    const { noticed } = await clients.stop();
    // The person's token became invalid when the secret above was replaced.
    expect(noticed.filter((one) => !one.includes('/api/auth/me'))).toEqual([]);
    const [after] = await sealedBy();
    expect(after?.key).not.toBe(before?.key);
    const { body } = await first().call('GET', '/actuator/health', { key: apiKey });
    expect(body.components.secrets).toMatchObject({ status: 'UP' });
  });

  it.runIf(hasOathtool)(
    'sealed by an earlier version are counted if they do not open, and resealed if they do',
    async () => {
      const [row] = await stage.sql<{ id: string; seed: Buffer }>(
        'SELECT id, seed FROM second_factor WHERE seed IS NOT NULL',
      );
      await stage.sql('UPDATE second_factor SET seed = $2 WHERE id = $1', [row?.id, Buffer.alloc(60, 7)]);
      const failed = await runToEnd(['reseal'], { ...stage.settings, SVC_JWT_SECRET: SECOND }).catch(
        ({ stdout }: { stdout: string }) => stdout,
      );
      expect(failed).toContain('1 secrets cannot be decrypted. Add the previous secret to SVC_JWT_SECRET_PREVIOUS');
      const started = await stage.start({ role: 'api', settings: settings() });
      const { body } = await started.call('GET', '/actuator/health', { key: apiKey });
      expect(body.components.secrets).toMatchObject({ status: 'DOWN' });
      expect(body.components.secrets.details.detail).toContain('secret.not-openable');
      const refused = await started.call('POST', '/api/auth/login', {
        body: { email: person.email, password: person.password, totp: '000000' },
      });
      expect(refused).toMatchObject({ status: 503, body: { code: 'secret.not-openable' } });
      expect(refused.body.detail).toContain('SVC_JWT_SECRET_PREVIOUS');
      await stage.sql('UPDATE second_factor SET seed = $2 WHERE id = $1', [row?.id, row?.seed]);
      await started.kill();
    },
  );
});

describe('the database password', () => {
  it('is rotated without a restart: new connections use the file', async () => {
    const url = new URL(stage.databaseUrl);
    const role = `rotating_${url.pathname.slice(1, 12)}`;
    await stage.sql(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'first-password'`);
    const as = (password: string) => Object.assign(new URL(stage.databaseUrl), { username: role, password }).href;
    writeFileSync(files['database'] ?? '', as('first-password'));
    await roll();
    const clients = load();
    await sleep(500);
    await stage.sql(`ALTER ROLE ${role} PASSWORD 'second-password'`);
    writeFileSync(files['database'] ?? '', as('second-password'));
    // Terminates idle connections, so that new connections use the new password.
    await stage.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND state = 'idle'`, [
      role,
    ]);
    await sleep(3000);
    const { answers, noticed } = await clients.stop();
    console.info(`database password replaced: ${answers} answers, ${noticed.length} noticed`);
    expect(noticed.filter((one) => !one.includes('/api/auth/me') && !one.includes('database.unavailable'))).toEqual([]);
    expect((await first().call('GET', '/actuator/health/readiness')).status).toBe(200);
    writeFileSync(files['database'] ?? '', stage.databaseUrl);
    await roll();
    await stage.sql(`DROP ROLE ${role}`);
  });
});

describe('the token PIN', () => {
  it('is rotated without a restart: a new key process uses the file', async () => {
    const clients = load();
    changePin(stage, '654321');
    const { body } = await first().call('GET', '/actuator/health', { key: apiKey });
    process.kill(body.components.hsm.details.pid as number, 'SIGKILL');
    await until('the key process is replaced', 30, async () => {
      const health = await first().call('GET', '/actuator/health', { key: apiKey });
      return health.body.components.hsm.status === 'UP' && health.body.components.hsm.details.respawns > 0;
    });
    const { noticed } = await clients.stop();
    expect(noticed.filter((one) => !one.includes('/api/auth/me') && !one.includes('hsm.unavailable'))).toEqual([]);
  });

  it('that is wrong in the file is tried by one process only, and the correct one works without a restart', async () => {
    const right = readFileSync(stage.token.pinFile, 'utf8').trim();
    writeFileSync(stage.token.pinFile, '111111\n');
    const one = await stage.start({ role: 'api', settings: settings() });
    await until('the first is refused', 30, async () => one.log().includes('this PIN is not tried again'));
    const two = await stage.start({ role: 'api', settings: settings() });
    await until('the second does not try', 30, async () => two.log().includes('refused this PIN in another process'));
    expect(two.log()).not.toContain('CKR_PIN_INCORRECT');
    expect(await stage.sql('SELECT 1 FROM hsm_refused_pin')).toHaveLength(1);
    writeFileSync(stage.token.pinFile, `${right}\n`);
    for (const service of [one, two])
      await until('it logs in with the new PIN', 30, async () => {
        const { body } = await service.call('GET', '/actuator/health', { key: apiKey });
        return body.components.hsm.status === 'UP';
      });
    expect(await runToEnd(['retry-pin'], { ...stage.settings, SVC_JWT_SECRET: SECOND })).toContain('1 refused PINs');
  });
});

/** Changes the PIN with another program (C_SetPIN), then writes the PIN file. */
function changePin({ token }: Stage, pin: string): void {
  const library = process.env['SW_TEST_SOFTHSM'] ?? '/usr/lib/softhsm/libsofthsm2.so';
  const args = [
    '--module',
    library,
    '--token-label',
    token.label,
    '--login',
    '--pin',
    readFileSync(token.pinFile, 'utf8').trim(),
    '--change-pin',
    '--new-pin',
    pin,
  ];
  execFileSync('pkcs11-tool', args, { env: { ...process.env, ...token.environment }, stdio: 'ignore' });
  writeFileSync(token.pinFile, `${pin}\n`);
}
