import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { digestOf } from '../test/support/signing.js';
import { closeOnSignals } from './cluster/part.js';
import { type Drill, DRILLS, type ExpectedAlert } from './drills/drills.js';
import { Site } from './drills/site.js';
import { Findings } from './support/findings.js';
import { until } from './support/until.js';

/**
 * npm run proof -- drills [LETTER …]
 * Simulates production failures one at a time on an installation monitored by a real Prometheus with the rules of deploy/observability. Health must report
 * the failure, the alert must fire within a minute, the alert's runbook page must describe the first action, and the service must recover without intervention.
 */
const MAX_FIRING_SECONDS = 60;
const RECOVERY_SECONDS = 60;
const QUIET_SECONDS = 30;
const letters = process.argv.slice(2);
const wanted = Object.entries(DRILLS).filter(([letter]) => letters.length === 0 || letters.includes(letter));

const { say, check, conclude } = new Findings();

/** Requests a synchronous signature and returns the HTTP status, or 0 without a response. */
async function sign(site: Site): Promise<number> {
  const body = { digest: digestOf(`drill ${performance.now()}`), algorithm: 'sha256' };
  const answer = await site.api.call('POST', '/api/v1/sign/digest', { key: site.apiKey, body }).catch(() => undefined);
  return answer?.status ?? 0;
}

/** Returns the text of the runbook page to which an alert links. */
function page(address: string): string {
  const [file = '', anchor = ''] = address.split('#');
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  return text.split(/^## /m).find((part) => part.startsWith(anchor)) ?? '';
}

async function run(letter: string, drill: Drill, site: Site): Promise<void> {
  say(`${letter}: ${drill.what}`);
  const before = await firingNames(site);
  await drill.begin(site);
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  await saysIt(drill, site, seconds);
  await isReadyOrNot(drill, site);
  if (drill.alert === undefined) await staysQuiet(site, before);
  else await fires(drill.alert, site, seconds);
  const status = await sign(site);
  check(
    drill.signs ? 'a signature is answered' : 'no signature is given',
    (status === 200) === drill.signs,
    String(status),
  );
  await drill.end(site);
  await recovers(site);
}

async function saysIt({ says }: Drill, site: Site, seconds: () => number): Promise<void> {
  if (says === undefined) return;
  const { role, component, words } = says;
  const isSaid = async () => words.test((await site.health(role)).troubles[component] ?? '');
  const said = await until('health to say it', MAX_FIRING_SECONDS, isSaid).catch(() => false);
  const state = await site.health(role);
  const after = `after ${seconds().toFixed(1)} s, ${state.status}: ${JSON.stringify(state.troubles)}`;
  check(`health says it of ${component}`, said, after);
}

async function isReadyOrNot({ isReady }: Drill, site: Site): Promise<void> {
  const { ready } = await site.health('api').catch(() => ({ ready: 0 }));
  check(`the api is ${isReady ? 'ready' : 'not ready'}`, (ready === 200) === isReady, String(ready));
}

async function firingNames({ prometheus }: Site): Promise<string[]> {
  return (await prometheus.firing()).map(({ labels }) => labels.alertname);
}

/** Checks that no new alert fires; earlier alerts may still be firing. */
async function staysQuiet(site: Site, before: readonly string[]): Promise<void> {
  await sleep(QUIET_SECONDS * 1000);
  const added = (await firingNames(site)).filter((name) => !before.includes(name));
  check('no alert fires', added.length === 0, added.join(', '));
}

async function fires(alert: ExpectedAlert, { prometheus }: Site, seconds: () => number): Promise<void> {
  const fired = await until(`${alert.name} to fire`, MAX_FIRING_SECONDS, async () =>
    (await prometheus.firing()).find(({ labels }) => labels.alertname === alert.name),
  ).catch(() => undefined);
  const after = seconds();
  const summary = fired?.annotations.summary ?? 'it does not fire';
  check(
    `${alert.name} fires within a minute`,
    fired !== undefined && after <= MAX_FIRING_SECONDS,
    `after ${after.toFixed(1)} s: ${summary}`,
  );
  check(
    'its page names the first action',
    alert.action.test(page(fired?.annotations.runbook ?? '').replaceAll(/\s+/g, ' ')),
  );
}

async function recovers(site: Site): Promise<void> {
  const began = performance.now();
  const isWell = async () => (await sign(site)) === 200 && (await site.health('api')).status === 'UP';
  const well = await until('the service to be well again', RECOVERY_SECONDS, isWell).catch(() => false);
  check('afterwards it is well by itself', well, `after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  await until('the alerts to end', RECOVERY_SECONDS, async () => (await site.prometheus.firing()).length === 0).catch(
    () => false,
  );
}

const site = await Site.open();
closeOnSignals(() => site.close());
try {
  for (const [letter, drill] of wanted) await run(letter, drill, site);
} finally {
  await site.close();
}
conclude(`${wanted.length} drills are answered as they must be`);
