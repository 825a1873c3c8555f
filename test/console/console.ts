import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';

/** Directory of the screenshots for human review, which are not committed. */
const PICTURES = join(import.meta.dirname, '../../.tmp/pictures');
const AXE = join(import.meta.dirname, '../../ui/node_modules/axe-core/axe.min.js');

/** Reports whether `npm run build` has written dist/ui. */
export const isConsoleBuilt = (): boolean => existsSync(join(import.meta.dirname, '../../dist/ui/index.html'));

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  close(): Promise<void>;
  /** Asserts that the Content-Security-Policy and Trusted Types blocked nothing and no script failed. */
  assertClean(): void;
}

interface VisitOptions {
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  readonly locale?: string;
  /** IANA time zone such as America/Los_Angeles; the machine's time zone by default. */
  readonly timezone?: string;
  /** Cookies and storage of a signed-in person. */
  readonly signedIn?: Awaited<ReturnType<BrowserContext['storageState']>>;
}

/** Opens the URL in a separate browser context, which shares no cookies or storage with other contexts. */
export async function visit(browser: Browser, url: string, options: VisitOptions = {}): Promise<Visit> {
  const { scheme = 'light', width = 1280, locale = 'en-GB', timezone, signedIn } = options;
  const context = await browser.newContext({
    colorScheme: scheme,
    locale,
    viewport: { width, height: 800 },
    reducedMotion: 'reduce',
    ...(timezone === undefined ? {} : { timezoneId: timezone }),
    ...(signedIn === undefined ? {} : { storageState: signedIn }),
  });
  context.setDefaultTimeout(90_000);
  const faults: string[] = [];
  context.on('weberror', (error) => faults.push(String(error.error())));
  context.on('console', (message) => {
    // Journeys include rejected calls, which browsers report as errors. Every other error in the browser console is a fault.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  const page = await context.newPage();
  await page.goto(url);
  return { page, context, close: () => context.close(), assertClean: () => expect(faults).toEqual([]) };
}

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Main navigation' }).waitFor({ state: 'attached' });
}

/**
 * Navigates within the app, like a link, so that axe-core stays loaded: loading axe-core takes longer than running it. Other views of the current page are
 * reloaded. `served.spec.ts` proves that every address returns the same document.
 */
export async function goTo(page: Page, url: string, path: string): Promise<void> {
  if (path.includes('?') || path === new URL(page.url()).pathname) {
    await page.goto(`${url}${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    return;
  }
  await page.evaluate(`document.querySelector('main h1').dataset.left = 'yes'; history.pushState({}, '', '${path}')`);
  await page.locator('main h1:not([data-left])').waitFor();
}

/** Selector for placeholders shown while a page loads. A chart is loaded once its first line is drawn. */
const WAITING =
  '.pf-v6-c-skeleton, .pf-v6-c-spinner, main [aria-busy=true], .sw-chart[data-near=true]:not(:has(svg path))';

/** Waits until a page has shown no placeholder, busy element, empty chart or running transition for three frames. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(`new Promise((done) => {
    let calm = 0;
    const look = () => {
      calm = document.querySelector('main h1') !== null && document.querySelector(${JSON.stringify(WAITING)}) === null
        && document.getAnimations().every((each) => !(each instanceof CSSTransition) || each.playState !== 'running') ? calm + 1 : 0;
      if (calm > 2) done(); else requestAnimationFrame(look);
    };
    look();
  })`);
}

const AXE_SOURCE = readFileSync(AXE, 'utf8');

/** Runs all rules of axe-core, or the rules of one category, on the current page. Returns the violations. */
export async function accessibilityFaults(page: Page, category?: 'cat.color'): Promise<string[]> {
  if (!(await page.evaluate(`typeof axe === 'object'`))) await page.evaluate(AXE_SOURCE);
  const options = { resultTypes: ['violations'], ...(category && { runOnly: [category] }) };
  const found: unknown = await page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))))`,
  );
  return found as string[];
}

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

/**
 * Takes screenshots in light and dark mode, between which the page switches without a reload. Returns the violations found by axe-core. Dark mode changes only
 * colors, so only color rules are checked there.
 */
export async function checkPage(page: Page, name: string): Promise<string[]> {
  const faults: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(colorScheme === 'dark' ? 'html.pf-v6-theme-dark' : 'html:not(.pf-v6-theme-dark)').waitFor();
    await settled(page);
    await picture(page, `${name}-${colorScheme}`);
    const found = await accessibilityFaults(page, colorScheme === 'dark' ? 'cat.color' : undefined);
    for (const fault of found) faults.push(`${name} ${colorScheme} ${fault}`);
  }
  return faults;
}
