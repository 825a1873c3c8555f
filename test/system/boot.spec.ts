import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessToken, newApiKey } from '../support/access.js';
import { shippedDocument } from '../support/api-document.js';
import { isRunning } from '../support/processes.js';
import { runToEnd, type Service, startService } from '../support/service.js';
import { digestOf, sign, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const STRONG = 'a-secret-that-is-long-enough-and-not-the-default';

let stage: Stage;
let seeded: { apiKey: string; adminEmail: string; adminPassword: string };

beforeAll(async () => {
  stage = await openStage();
  seeded = await stage.seed();
});
afterAll(() => stage.close());

describe('the build starts and stops', () => {
  it.each(['all', 'api', 'worker'] as const)('with the role %s', async (role) => {
    const service = await stage.start({ role });
    expect(await service.kill('SIGTERM')).toBe('SIGTERM');
    expect(service.log()).not.toMatch(/ERROR|FATAL|Unhandled|Warning/);
  });

  it('and leaves no process running', async () => {
    const service = await stage.start();
    const { body } = await service.call('GET', '/actuator/health', { key: seeded.apiKey });
    const keyProcess = body.components.hsm.details.pid as number;
    expect(isRunning(keyProcess)).toBe(true);
    await service.kill('SIGTERM');
    await until('the key process has ended', 30, async () => !isRunning(keyProcess));
  });
});

describe('the compile cache of the build', () => {
  it.each(['main', 'worker', 'cli'])('is used by %s, which prints its version and commit', async (program) => {
    const env = { ...process.env, NODE_COMPILE_CACHE: undefined, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
    const asked = [join(import.meta.dirname, `../../dist/${program}.js`), '--version'];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, asked, {
      env,
      maxBuffer: 64 * 1024 * 1024,
    });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\+([0-9a-f]{12}(\.modified)?|src\.[0-9a-f]{12})$/m);
    const bundled = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => /V8 code cache for .*\/dist\/bundled\//.test(line));
    expect(bundled.length).toBeGreaterThan(1);
    expect(bundled.filter((line) => !line.includes(' was accepted'))).toEqual([]);
  });
});

describe('invalid settings', () => {
  const failing = async (settings: Record<string, string>): Promise<string> => {
    const service = await startService({ ...stage.settings, ...settings }).catch((error: Error) => error.message);
    return typeof service === 'string' ? service : 'it started';
  };

  it('are all rejected at once, each by name', async () => {
    const said = await failing({
      SVC_PROFILE: 'prod',
      SVC_ADMIN_PASSWORD: 'short',
      SVC_PORT: 'http',
      SVC_LOG_LEVEL: 'loud',
      SVC_DATABASE_URL: 'mysql://user:very-secret@localhost/db',
      SVC_PKCS11_PIN: '123456',
    });
    for (const name of ['JWT_SECRET', 'ADMIN_PASSWORD', 'PORT', 'LOG_LEVEL', 'DATABASE_URL', 'PKCS11_PIN'])
      expect(said).toContain(`SVC_${name} `);
    expect(said).toContain('development default');
    expect(said).not.toMatch(/very-secret|123456/);
  });

  it.each([
    ['a short secret', { SVC_JWT_SECRET: 'x'.repeat(31) }, 'at least 32 characters'],
    ['a misspelt name', { SVC_JTW_SECRET: STRONG }, 'SVC_JTW_SECRET is not a known setting'],
    ['a profile that is none', { SVC_PROFILE: 'test' }, 'SVC_PROFILE must be one of dev, prod'],
  ])('are rejected: %s', async (_, settings, reason) => {
    expect(await failing({ ...settings })).toContain(reason);
  });
});

describe('the prod profile', () => {
  let service: Service;
  beforeAll(async () => {
    service = await stage.start({ settings: { SVC_PROFILE: 'prod', SVC_JWT_SECRET: STRONG } });
  });

  it('hides the API description and development pages from anonymous callers', async () => {
    for (const path of ['/api-docs', '/swagger-ui.html'])
      expect((await service.call('GET', path)).body).toMatchObject({ status: 404, code: 'route.missing' });
  });

  it('allows no cross-origin requests', async () => {
    const { headers } = await service.call('GET', '/actuator/health', { headers: { origin: 'http://localhost:4200' } });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('logs JSON lines', async () => {
    await service.call('GET', '/api/v1/audit/entries');
    const lines = service.log().trim().split('\n');
    expect(lines.map((line) => typeof JSON.parse(line).message)).toEqual(lines.map(() => 'string'));
  });

  it('rejects a token signed with another secret', async () => {
    const dev = await stage.start({ role: 'api' });
    const token = await accessToken(dev, seeded.adminEmail, seeded.adminPassword);
    expect((await dev.call('GET', '/api/auth/me', { key: token })).status).toBe(200);
    expect((await service.call('GET', '/api/auth/me', { key: token })).status).toBe(401);
  });

  it('has no demo data', async () => {
    const settings = { ...stage.settings, SVC_PROFILE: 'prod', SVC_CLOCK_SPEED: '1', SVC_JWT_SECRET: STRONG };
    await expect(runToEnd(['seed-demo'], settings)).rejects.toThrow('seed-demo is not allowed with SVC_PROFILE=prod');
  });
});

describe('the API explorer', () => {
  let service: Service;
  let token: string;
  const page = (headers: Record<string, string>) => service.call('GET', '/swagger-ui/index.html', { headers });

  beforeAll(async () => {
    service = await stage.start({ role: 'api' });
    token = await accessToken(service, seeded.adminEmail, seeded.adminPassword);
  });

  it('redirects browsers to the sign-in page, and rejects programs', async () => {
    const browser = await page({ accept: 'text/html,*/*' });
    expect([browser.status, browser.headers.get('location')]).toEqual([303, '/swagger-ui/sign-in.html']);
    const program = await page({ accept: 'application/json' });
    expect([program.status, program.body.code]).toEqual([401, 'auth.missing']);
    expect((await service.call('GET', '/swagger-ui/sign-in.html')).body).toContain('<form');
  });

  it('opens with a cookie that is limited to its own pages', async () => {
    const { status, headers } = await service.call('POST', '/swagger-ui/session', { key: token });
    expect(status).toBe(204);
    const cookie = headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/; Path=\/swagger-ui; .*HttpOnly; SameSite=Strict/);
    const session = { cookie: cookie.split(';')[0] ?? '' };
    const opened = await page(session);
    expect(opened.status).toBe(200);
    expect(opened.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect((await service.call('GET', '/swagger-ui/api-docs', { headers: session })).body.openapi).toMatch(/^3\.1/);
    expect((await service.call('GET', '/api/auth/me', { headers: session })).status).toBe(401);
    expect((await page({ cookie: 'sealwright_explorer=forged' })).status).toBe(401);
  });

  it('serves every file that its page references, and no other', async () => {
    const { body } = await page({ authorization: `Bearer ${token}` });
    const files = [...(body as string).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) expect((await service.call('GET', `/swagger-ui/${file}`)).status).toBe(200);
    for (const file of ['package.json', '..%2f..%2fpackage.json', 'index.js'])
      expect((await service.call('GET', `/swagger-ui/${file}`)).status).toBe(404);
  });

  it('and the raw API description are public in dev', async () => {
    expect((await service.call('GET', '/api-docs')).body.info.title).toBe('Sealwright');
    expect((await service.call('GET', '/swagger-ui.html')).headers.get('location')).toBe('/swagger-ui/index.html');
  });

  it('matches docs/openapi.json', async () => {
    expect((await service.call('GET', '/api-docs')).body).toEqual(shippedDocument());
  });
});

describe('metrics', () => {
  it('are available to authorized callers in Prometheus text format', async () => {
    const service = await stage.start();
    const { key } = await newApiKey(service, seeded.apiKey, ['system:read']);
    await sign(service, { key: seeded.apiKey, body: { digest: digestOf('metrics') } });
    expect((await service.call('GET', '/actuator/prometheus')).status).toBe(401);
    const { status, headers, body } = await service.call('GET', '/actuator/prometheus', { key });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const lines = (body as string)
      .trim()
      .split('\n')
      .filter((line) => line !== '');
    const strange = lines.filter(
      (line) => !/^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? (-?[\d.e+-]+|NaN|[+-]Inf))$/.test(line),
    );
    expect(strange).toEqual([]);
    expect(body).toContain('sealwright_signing_requests_total{outcome="SIGNED",way="sync"} 1');
    expect(body).toMatch(/sealwright_http_request_duration_seconds_count\{.*route="\/api\/v1\/sign\/digest".*\} 1/);
    expect(body).toMatch(/sealwright_hsm_sign_duration_seconds_count\{type="ec-p256",outcome="SIGNED"\} 1/);
  });
});
