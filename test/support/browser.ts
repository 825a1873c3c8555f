import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { commandPath } from '../../scripts/lib/commands.mjs';

/** The system's Chromium; undefined where it is missing, and then the tests that need it are skipped and named. */
export const CHROMIUM = ['chromium', 'chromium-browser', 'google-chrome'].map(commandPath).find(Boolean);

/**
 * Chromium without a window, and without a GPU, which drawn in software takes most of the time of every page. Close it in `afterAll`.
 */
export function startChromium(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('there is no Chromium on this machine; `npm test` brings one');
  return chromium.launch({ executablePath: CHROMIUM, args: ['--disable-gpu'] });
}

/** A fresh profile, without the cookies of any other, and a page in it that tells what went wrong in it. */
export async function openPage(browser: Browser, url: string): Promise<WatchedPage> {
  const context = await browser.newContext();
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    // An answer of 4xx is part of what pages are for; the browser mentions every one.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  await page.goto(url);
  return { page, context, assertNoFaults: () => expect(faults).toEqual([]) };
}

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** No script failed, and nothing was stopped by the Content-Security-Policy. */
  assertNoFaults(): void;
}
