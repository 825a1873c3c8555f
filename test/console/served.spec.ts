import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, startChromium } from '../support/browser.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { visit } from './console.js';

const BUILT = join(import.meta.dirname, '../../dist/ui');
/** Limit for the gzipped size in bytes of the files needed to show the sign-in page. */
const FIRST_LOAD = 250_000;

let stage: Stage;
let service: Service;

beforeAll(async () => {
  stage = await openStage();
  service = await stage.start({
    role: 'api',
    settings: { SVC_PROFILE: 'prod', SVC_JWT_SECRET: 'a-secret-of-the-test-of-the-console-0123456789' },
  });
});
afterAll(() => stage.close());

const html = readFileSync(join(BUILT, 'index.html'), 'utf8');
const entryFiles = [...html.matchAll(/(?:src|href)="\/(static\/[^"]+)"/g)].map(([, file]) => file ?? '');

async function raw(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${service.url}${path}`, { headers, redirect: 'manual' });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

describe('the served console', () => {
  it('is the same document for every page, revalidated on each use', async () => {
    for (const path of [
      '/',
      '/assets',
      '/assets/01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11',
      '/requests?status=SIGNED&x=1',
    ]) {
      const { response, bytes } = await raw(path);
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('no-cache');
      expect(bytes.toString()).toBe(html);
    }
  });

  it('has a policy without inline scripts, and with Trusted Types', async () => {
    const policy = (await raw('/')).response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy.match(/unsafe-\w+/g)).toEqual(['unsafe-inline']);
    expect(policy).toContain("style-src-attr 'unsafe-inline'");
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=/);
  });

  it('caches files for a year, compressed at build time', async () => {
    expect(entryFiles.length).toBeGreaterThan(1);
    for (const file of entryFiles) {
      const plain = readFileSync(join(BUILT, file));
      const { response } = await raw(`/${file}`, { 'accept-encoding': 'br, gzip' });
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('content-encoding')).toBe('br');
      expect(response.headers.get('vary')).toContain('Accept-Encoding');
      expect(brotliDecompressSync(readFileSync(join(BUILT, `${file}.br`))).equals(plain)).toBe(true);
      expect(gunzipSync(readFileSync(join(BUILT, `${file}.gz`))).equals(plain)).toBe(true);
      const same = await raw(`/${file}`, {
        'accept-encoding': 'br',
        'if-none-match': response.headers.get('etag') ?? '',
      });
      expect([same.response.status, same.bytes.length]).toEqual([304, 0]);
    }
  });

  it('allows no other origin in the prod profile', async () => {
    for (const path of ['/', `/${entryFiles[0]}`, '/api/auth/me']) {
      const { response } = await raw(path, { origin: 'http://localhost:4200' });
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it.each(['/static/none.js', '/static/../main.js', '/static/%2e%2e/main.js', '/static/', '/nothing', '/favicon.ico'])(
    'returns a problem for %s',
    async (path) => {
      const { response } = await raw(path);
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toContain('problem+json');
    },
  );
});

describe.skipIf(CHROMIUM === undefined)('the first load', () => {
  it(`is at most ${FIRST_LOAD / 1000} kB gzipped: scripts and styles that the browser fetches for the sign-in page`, async () => {
    const browser = await startChromium();
    const { page } = await visit(browser, service.url);
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.waitForLoadState('networkidle');
    const fetched = (await page.evaluate(
      `performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname.slice(1))`,
    )) as string[];
    await browser.close();
    const files = ['index.html', ...fetched.filter((name) => /^static\/.*\.(?:js|css)$/.test(name))];
    const sizes = [...new Set(files)].map((file) => readFileSync(join(BUILT, `${file}.gz`)).length);
    expect(sizes.length).toBeGreaterThan(4);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(FIRST_LOAD);
  });

  it('contains no source map', () => {
    expect(readdirSync(join(BUILT, 'static')).filter((name) => name.endsWith('.map'))).toEqual([]);
  });
});
