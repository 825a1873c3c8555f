import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHROMIUM, startChromium } from '../support/browser.js';
import { runToEnd, type Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { goTo, checkPage, picture, settled, signIn, visit } from './console.js';
import { PAGES } from './pages.js';
import { populate } from './populate.js';

const ROUTES = join(import.meta.dirname, '../../ui/src/app/router.tsx');

let stage: Stage;
let service: Service;
let browser: Browser;
let admin: { adminEmail: string; adminPassword: string };
let seeded: { apiKey: string };
let there: Readonly<Record<string, string>>;

beforeAll(async () => {
  stage = await openStage();
  const made = await stage.seed();
  [admin, seeded] = [made, made];
  // Demo data fills the charts and lists.
  await runToEnd(['seed-demo', '--out', join(tmpdir(), 'console-inventory.env'), '--inventory'], stage.settings);
  service = await stage.start({ settings: { SVC_OUTBOUND_ALLOW: '127.0.0.1/32' } });
  there = await populate(service, seeded.apiKey);
  if (CHROMIUM !== undefined) browser = await startChromium();
});
afterAll(async () => {
  await browser?.close();
  await stage.close();
});

const addressOf = (page: string): string =>
  page.replaceAll(/\{(\w+)\}/g, (_, name: string) => there[name] ?? 'missing');
const signInHeading = (page: Page) => page.getByRole('heading', { level: 1, name: 'Sign in' });
const fileNameOf = (page: string): string => page.replaceAll(/[^a-z]+/gi, '-').replaceAll(/^-|-$/g, '') || 'dashboard';

it('the page list contains every console page', () => {
  const routes = [...readFileSync(ROUTES, 'utf8').matchAll(/page\(\s*'([^']+)'/g)].map(([, path = '']) => path);
  const listed = new Set(PAGES.map((page) => page.split('?')[0]?.replaceAll(/\{\w+\}/g, '$id')));
  // A rotation requires a host, so the rotation page is checked in a journey.
  expect(routes.filter((route) => !listed.has(route))).toEqual(['/rotations/$id']);
});

describe.skipIf(CHROMIUM === undefined)('every page in light and dark mode', () => {
  it('has no accessibility faults and no policy violations', { timeout: 1_800_000 }, async () => {
    const { page, context, assertClean } = await visit(browser, service.url);
    await signInHeading(page).waitFor();
    const faults = await checkPage(page, 'sign-in');
    await signIn(page, admin.adminEmail, admin.adminPassword);
    const left = [...PAGES];
    const faultsOf = async (tab: Page, each: string) => {
      await goTo(tab, service.url, addressOf(each));
      const signedOut = (await signInHeading(tab).isVisible()) ? [`${each} shows the sign-in`] : [];
      return [...signedOut, ...(await checkPage(tab, fileNameOf(each)))];
    };
    const walk = async (tab: Page) => {
      for (let each = left.shift(); each !== undefined; each = left.shift()) {
        // A fault on one page does not prevent the other pages from being checked.
        faults.push(...(await faultsOf(tab, each).catch((error: unknown) => [`${each} ${String(error)}`])));
      }
    };
    // Uses separate browser contexts, because a browser renders only the foreground tab of a window.
    const others = [await visit(browser, service.url)];
    for (const other of others) await signIn(other.page, admin.adminEmail, admin.adminPassword);
    await Promise.all([page, ...others.map((other) => other.page)].map(walk));
    expect(faults).toEqual([]);
    assertClean();
    for (const other of others) other.assertClean();
    await Promise.all([context, ...others.map((other) => other.context)].map((one) => one.close()));
  });
});

interface Deadline {
  readonly date: string;
  readonly state: string;
  readonly authority: string;
  readonly provision?: string;
  readonly appliesTo?: string;
  readonly assets: number | null;
}

const identityOf = ({ date, state, authority, provision, appliesTo }: Deadline): string =>
  [date, state, authority, provision, appliesTo].join(' | ');

describe.skipIf(CHROMIUM === undefined)('the console shell', () => {
  it('is shown in German on request, and an approval on a phone needs no horizontal scrolling', async () => {
    const { page, context, assertClean } = await visit(browser, service.url, { locale: 'de-DE', width: 390 });
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    await page.getByLabel('E-Mail-Adresse').fill(admin.adminEmail);
    await page.getByLabel('Passwort').fill(admin.adminPassword);
    await page.getByRole('button', { name: 'Anmelden' }).click();
    await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
    await page.goto(`${service.url}${addressOf('/approvals/{approval}')}`);
    await page.getByRole('heading', { name: 'Zu genehmigender Inhalt' }).waitFor();
    await settled(page);
    const overflow: unknown = await page.evaluate(
      'document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth',
    );
    expect(overflow).toBe(0);
    await picture(page, 'approval-phone-de');
    assertClean();
    await context.close();
  });

  it('shows the same deadline in every time zone', async () => {
    const { page, context, assertClean } = await visit(browser, service.url, { timezone: 'America/Los_Angeles' });
    await signIn(page, admin.adminEmail, admin.adminPassword);
    await page.goto(`${service.url}/deadlines`);
    await page.getByRole('cell', { name: 'Dec 31, 2030' }).first().waitFor();
    expect(await page.getByRole('cell', { name: 'Dec 30, 2030' }).count()).toBe(0);
    assertClean();
    await context.close();
  });

  it('counts the assets of each deadline like the export, and links to the list', async () => {
    const { apiKey } = seeded;
    const get = async (path: string) => (await service.call('GET', path, { key: apiKey })).body;
    const { components } = await get('/api/export/cyclonedx?state=active');
    const counted = new Map<string, number>();
    for (const { 'bom-ref': id } of components as { 'bom-ref': string }[]) {
      const { findings } = await get(`/api/assets/${id}`);
      const own = findings.flatMap(({ deadlines }: { deadlines: Deadline[] }) => deadlines.map(identityOf));
      for (const key of new Set<string>(own)) counted.set(key, (counted.get(key) ?? 0) + 1);
    }
    const { items } = (await get('/api/quantum-risk/deadlines')) as { items: Deadline[] };
    const expected = items.map((one) =>
      one.assets === null ? 'Not counted' : String(counted.get(identityOf(one)) ?? 0),
    );
    const { page, context, assertClean } = await visit(browser, service.url);
    await signIn(page, admin.adminEmail, admin.adminPassword);
    await page.goto(`${service.url}/deadlines`);
    const rows = page.getByRole('table', { name: 'Deadlines' }).locator('tbody tr');
    await rows.nth(items.length - 1).waitFor();
    const shown = await rows.evaluateAll((all) => all.map((row) => row.children[4]?.textContent ?? ''));
    expect(shown).toEqual(expected);
    expect(shown.filter((text) => Number(text) > 0).length).toBeGreaterThan(5);
    const first = expected.findIndex((text) => Number(text) > 0);
    await rows.nth(first).locator('td').nth(4).getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Assets' }).waitFor();
    await settled(page);
    const listed = page.getByRole('table', { name: 'Assets' }).locator('tbody tr');
    expect(await listed.count()).toBeGreaterThan(0);
    assertClean();
    await context.close();
  });

  it('supports the keyboard, with the skip link first, and keeps the chosen colors', async () => {
    const { page, context, assertClean } = await visit(browser, service.url);
    await signIn(page, admin.adminEmail, admin.adminPassword);
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.getByRole('button', { name: 'Color scheme' }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.locator('html').getAttribute('class')).toContain('pf-v6-theme-dark');
    assertClean();
    await context.close();
  });

  it('returns to a linked page after sign-in, and to the sign-in page after sign-out', async () => {
    const { page, context, assertClean } = await visit(browser, `${service.url}/settings/general`);
    await signIn(page, admin.adminEmail, admin.adminPassword);
    await page.getByRole('heading', { level: 1, name: 'Service' }).waitFor();
    await page.getByRole('button', { name: /^Signed in as/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    assertClean();
    await context.close();
  });
});
