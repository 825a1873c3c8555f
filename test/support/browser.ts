import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { chromium as chromiumPath } from '../../scripts/lib/commands.mjs';

/** The system's Chromium; undefined where it is missing: tests that need it are then skipped and listed. */
export const CHROMIUM = chromiumPath();

/**
 * Chromium without a window, and without a GPU, which drawn in software takes most of the time of every page. Close it in `afterAll`.
 */
export function startChromium(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('there is no Chromium on this machine; `npm test` brings one');
  return chromium.launch({ executablePath: CHROMIUM, args: ['--disable-gpu'] });
}

/** A page in a new profile, without cookies of others, that collects script errors and violations of the Content-Security-Policy. */
export async function openPage(browser: Browser, url: string): Promise<WatchedPage> {
  const context = await browser.newContext();
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // Browsers report every 4xx as an error, but pages expect some of them.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  await page.goto(url);
  return { page, context, assertNoFaults: () => expect(faults).toEqual([]) };
}

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Fails if a script failed or the Content-Security-Policy blocked anything. */
  assertNoFaults(): void;
}
