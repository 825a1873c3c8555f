import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { chromium as chromiumPath } from '../../scripts/lib/commands.mjs';

/** Path of the system's Chromium; undefined if Chromium is missing. Tests that need a browser are then skipped and listed. */
export const CHROMIUM = chromiumPath();

/** Starts headless Chromium without GPU emulation, which would account for most of the time of every page load. Close it in `afterAll`. */
export function startChromium(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('there is no Chromium on this machine; `npm test` brings one');
  return chromium.launch({ executablePath: CHROMIUM, args: ['--disable-gpu'] });
}

/** Opens a page in a new profile, and collects script errors and violations of the Content-Security-Policy. */
export async function openPage(browser: Browser, url: string): Promise<WatchedPage> {
  const context = await browser.newContext();
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // Browsers report every 4xx response as an error, but pages expect some of these responses.
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
