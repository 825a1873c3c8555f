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

/** One service and one browser for all journeys: on `localhost`, which passkeys take for a domain, and with hosts on loopback. */
export interface ConsolePlace {
  readonly stage: Stage;
  readonly service: Service;
  readonly browser: Browser;
  readonly mail: SmtpPeer;
  readonly apiKey: string;
  readonly url: string;
  /** For files that a journey needs or brings home. */
  readonly folder: string;
  /** A browser in which the administrator has signed in, on this page; it is used again once it is closed. */
  asAdmin(path: string): Promise<Visit>;
  close(): Promise<void>;
}

/** After five minutes the service asks people again who they are before what matters; a journey takes up to two. */
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
  if (CHROMIUM === undefined) throw new Error('there is no Chromium on this machine');
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
      // Of an older session it would be asked who they are.
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

/** Leaves what the browser downloads in the folder. Answers its path. */
export async function download(folder: string, page: Page, act: () => Promise<void>): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent('download'), act()]);
  const path = join(folder, file.suggestedFilename());
  await file.saveAs(path);
  return path;
}

export const navigation = (page: Page) => page.getByRole('navigation', { name: 'Main navigation' });

/** What the service remembers of a session, it believes for half of five seconds. */
const BELIEVED_MS = 2600;

/** Lets an hour pass since people showed who they are. @param whose a condition on their sessions. */
export async function anHourLater({ stage }: ConsolePlace, whose: string, values: unknown[] = []): Promise<void> {
  await stage.change(`UPDATE auth_session SET authenticated_at = now() - interval '1 hour' WHERE ${whose}`, values);
  await sleep(BELIEVED_MS);
}
