import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { freePort } from '../../scripts/lib/ports.mjs';
import { PEERS_HERE } from '../auth/people.js';
import { SmtpPeer } from '../fakes/smtp.js';
import { CHROMIUM, startChromium } from '../support/browser.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { signIn, visit, type Visit } from './console.js';

/**
 * The service and browser shared by all journeys. The service runs on `localhost`, which passkeys accept as a domain, and manages hosts on loopback addresses.
 */
export interface ConsolePlace {
  readonly stage: Stage;
  readonly service: Service;
  readonly browser: Browser;
  readonly mail: SmtpPeer;
  readonly apiKey: string;
  readonly url: string;
  /** Directory for files that a journey uploads or downloads. */
  readonly folder: string;
  /** Opens `path` in a browser signed in as the administrator. Reuses an idle browser if there is one. */
  asAdmin(path: string): Promise<Visit>;
  close(): Promise<void>;
}

/** Maximum age of the shared session. The service requires step-up five minutes after sign-in. A journey takes up to two minutes. */
const FRESH_MS = 2 * 60_000;

export async function openConsole(): Promise<ConsolePlace> {
  const folder = mkdtempSync(join(tmpdir(), 'sealwright-console-'));
  const stage = await openStage();
  const { apiKey, adminEmail, adminPassword } = await stage.seed();
  const mail = new SmtpPeer();
  await mail.start();
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const service = await stage.start({
    settings: {
      SVC_PORT: String(port),
      SVC_PUBLIC_URL: url,
      SVC_ALLOW_LOOPBACK: 'yes',
      ...PEERS_HERE,
      ...mail.settings,
    },
  });
  if (CHROMIUM === undefined) throw new Error('Chromium is not installed');
  const browser = await startChromium();
  const newSession = async () => {
    const first = await visit(browser, url);
    await signIn(first.page, adminEmail, adminPassword);
    const signedIn = await first.context.storageState();
    await first.context.close();
    return { signedIn, at: Date.now() };
  };
  let session = await newSession();
  const idle: Visit[] = [];
  return {
    stage,
    service,
    browser,
    mail,
    apiKey,
    url,
    folder,
    asAdmin: async (path) => {
      if (Date.now() - session.at > FRESH_MS) {
        session = await newSession();
        for (const old of idle.splice(0)) await old.close();
      }
      const used = idle.pop();
      await used?.page.goto(`${url}${path}`);
      const visitor = used ?? (await visit(browser, `${url}${path}`, { signedIn: session.signedIn }));
      await visitor.page.getByRole('heading', { level: 1 }).waitFor();
      const since = session;
      // A browser with an older session is not reused, because the session would need step-up.
      const close = async () => (since === session ? void idle.push(visitor) : visitor.close());
      return { ...visitor, close };
    },
    close: async () => {
      await browser.close();
      await stage.close();
      await mail.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Performs `act`, saves the file that the browser downloads to the folder, and returns the path of the file. */
export async function download(folder: string, page: Page, act: () => Promise<void>): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), act()]);
  const path = join(folder, file.suggestedFilename());
  await file.saveAs(path);
  return path;
}

export const navigation = (page: Page) => page.getByRole('navigation', { name: 'Main navigation' });

/** Time to wait after a session has changed. The service caches sessions for 2.5 seconds. */
const SESSION_CACHE_MS = 2600;

/** Backdates the last authentication by an hour. @param whose SQL condition on the sessions */
export async function anHourLater({ stage }: ConsolePlace, whose: string, values: unknown[] = []): Promise<void> {
  await stage.change(`UPDATE auth_session SET authenticated_at = now() - interval '1 hour' WHERE ${whose}`, values);
  await sleep(SESSION_CACHE_MS);
}
