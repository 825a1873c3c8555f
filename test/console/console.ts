import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';

/** Looked at by people; not committed. */
const PICTURES = join(import.meta.dirname, '../../.tmp/pictures');
const AXE = join(import.meta.dirname, '../../ui/node_modules/axe-core/axe.min.js');

/** dist/ui is written by `npm run build`. */
export const isConsoleBuilt = (): boolean => existsSync(join(import.meta.dirname, '../../dist/ui/index.html'));

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  close(): Promise<void>;
  /** Nothing was refused by the Content-Security-Policy or by Trusted Types, and no script failed. */
  assertClean(): void;
}

interface VisitOptions {
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  readonly locale?: string;
  /** Such as America/Los_Angeles; that of the machine otherwise. */
  readonly timezone?: string;
  /** Cookie and storage of somebody who has signed in. */
  readonly signedIn?: Awaited<ReturnType<BrowserContext['storageState']>>;
}

/** A browser of its own for one person: no cookie or storage of another. */
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
    // A refused call is part of the journey that makes it; everything else that the browser complains of is a fault.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  const page = await context.newPage();
  await page.goto(url);
  return { page, context, close: () => context.close(), assertClean: () => expect(faults).toEqual([]) };
}

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Main navigation' }).waitFor({ state: 'attached' });
}

/**
 * Opens a page as a link does: the program stays, and axe-core in it, which a browser takes longer to load than to run. Views of the page that
 * is open are loaded anew. That every address is answered by the same document, `served.spec.ts` proves.
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

/** What a page shows while something is on its way to it; a plot is there once it has its first line. */
const WAITING =
  '.pf-v6-c-skeleton, .pf-v6-c-spinner, main [aria-busy=true], .sw-chart[data-near=true]:not(:has(svg path))';

/** Waits until a page has what it shows: for two frames, no placeholder, no table that is read again, no empty plot, no colour that still changes. */
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

/** Every rule of axe-core, or those of one category, on the page as it is now. */
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
 * Takes a picture in light and in dark, for the page follows the system's colours as they change. Answers what axe-core finds: in dark
 * nothing but the colours is another.
 */
export async function lookedAt(page: Page, name: string): Promise<string[]> {
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
