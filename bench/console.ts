import { chromium } from 'playwright-core';
import { CHROMIUM } from '../test/support/browser.js';
import { openStage } from '../test/support/stage.js';

/**
 * Loads the asset list of a large inventory in a real browser. Measures the time from navigation to the first row with a warm browser cache,
 * as for a returning user, and reports the median of five rounds.
 */
const ASSETS = Number(process.env['BENCH_ASSETS'] ?? 100_000);
const BATCH = 10_000;
const ROUNDS = 5;

const stage = await openStage();
try {
  const { apiKey, adminEmail, adminPassword } = await stage.seed();
  const service = await stage.start();
  for (let from = 0; from < ASSETS; from += BATCH) {
    const components = Array.from({ length: Math.min(BATCH, ASSETS - from) }, (_, i) => ({
      type: 'cryptographic-asset',
      'bom-ref': `key-${from + i}`,
      name: `key-${String(from + i).padStart(6, '0')}`,
      cryptoProperties: {
        assetType: 'related-crypto-material',
        relatedCryptoMaterialProperties: { type: 'public-key', id: `key-${from + i}`, size: 2048 },
      },
      evidence: { occurrences: [{ location: `host-${i % 500}.example.com` }] },
    }));
    const body = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components };
    const { status, body: said } = await service.call('POST', `/api/ingest?source=bench-${from}`, {
      key: apiKey,
      body,
    });
    if (status !== 200) throw new Error(JSON.stringify(said));
  }
  if (CHROMIUM === undefined) throw new Error('there is no Chromium on this machine');
  const browser = await chromium.launch({ executablePath: CHROMIUM });
  const page = await browser.newPage();
  await page.goto(service.url);
  await page.getByLabel('Email address').fill(adminEmail);
  await page.getByLabel('Password').fill(adminPassword);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Main navigation' }).waitFor();
  const times: { paint: number; rows: number; asked: number; answered: number }[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    await page.goto(`${service.url}/assets?sort=-level`);
    await page.locator('tbody a').first().waitFor();
    const measured = (await page.evaluate(
      `(() => {
        const call = performance.getEntriesByType('resource').find(({ name }) => new URL(name).pathname === '/api/assets');
        return {
          paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
          rows: performance.now(),
          asked: call.startTime,
          answered: call.responseEnd,
        };
      })()`,
    )) as (typeof times)[number];
    // The first round only fills the cache.
    if (round > 0) times.push(measured);
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const total = (await page.getByRole('status').first().textContent()) ?? '';
  process.stdout.write(
    `${ASSETS} assets (${total}): first paint ${median(times.map(({ paint }) => paint)).toFixed(0)} ms, ` +
      `first rows ${median(times.map(({ rows }) => rows)).toFixed(0)} ms (the list asked for at ` +
      `${median(times.map(({ asked }) => asked)).toFixed(0)} ms, answered at ` +
      `${median(times.map(({ answered }) => answered)).toFixed(0)} ms), median of ${ROUNDS}\n`,
  );
  await browser.close();
} finally {
  await stage.close();
}
process.exit(0);
