import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../scripts/lib/ports.mjs';
import { registerSensor } from '../test/sensors/sensor-calls.js';
import { runToEnd, type Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { Findings } from './support/findings.js';
import { until } from './support/until.js';
import { earlierVersion } from './upgrade/earlier-version.js';
import { Traffic } from './upgrade/traffic.js';

/**
 * npm run proof -- upgrade [--from COMMIT] [--built DIRECTORY] [--minutes N]
 * Upgrades from an earlier commit under full load: the old version alone, the old version on the new schema, both versions together, and the new version alone.
 * Exits with 0 if no call was refused, every accepted request was signed once, and the counts match a recount.
 */
const { values } = parseArgs({
  options: {
    from: { type: 'string', default: 'c459318' },
    built: { type: 'string' },
    minutes: { type: 'string', default: '10' },
  },
});
const PHASES = 5;
const PHASE_MS = (Number(values.minutes) * 60_000) / PHASES;
const MAX_SHOWN = 10;
const { say, check, conclude } = new Findings();

/** Returns the readiness of a process, or undefined if the process does not listen yet. */
async function readiness(port: number): Promise<{ status: number; text: string } | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}/actuator/health/readiness`).catch(() => undefined);
  return answer && { status: answer.status, text: await answer.text() };
}

/** Runs the demo seed of the earlier version and returns the API key. */
async function seededKey({ settings }: Stage, dist: string): Promise<string> {
  const place = mkdtempSync(join(tmpdir(), 'sealwright-upgrade-'));
  try {
    await runToEnd(['seed-demo', '--out', join(place, 'demo.env')], settings, { dist });
    const text = readFileSync(join(place, 'demo.env'), 'utf8');
    return /^API_KEY='(.*)'$/m.exec(text)?.[1] ?? '';
  } finally {
    rmSync(place, { recursive: true });
  }
}

/** Stops a process gracefully after it has received no calls for a moment, as a load balancer and a supervisor do. */
async function retire(service: Service): Promise<void> {
  await sleep(1000);
  await service.kill();
}

async function atTheEnd(stage: Stage, traffic: Traffic, services: readonly Service[]): Promise<void> {
  const total = [...traffic.counts.values()].reduce((sum, count) => sum + count, 0);
  for (const [name, count] of [...traffic.counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    say(`       ${count} × ${name}`);
  const shown = traffic.faults.slice(0, MAX_SHOWN).map(({ version, what, answer }) => `${version} ${what}: ${answer}`);
  check(
    `${total} calls, none of them refused or without an answer`,
    traffic.faults.length === 0,
    shown.join('\n       '),
  );
  await until('the last signatures', 60, async () => {
    const open = await stage.sql(`SELECT 1 FROM signing_request WHERE status IN ('QUEUED', 'PROCESSING')`);
    return open.length === 0;
  });
  const [signed] = await stage.sql<{ count: number }>(
    `SELECT count(*)::int AS count FROM signing_request WHERE id = ANY($1::uuid[]) AND status = 'SIGNED'`,
    [traffic.accepted],
  );
  const accepted = new Set(traffic.accepted).size;
  check('every accepted request is signed, once', signed?.count === accepted, `${signed?.count} of ${accepted}`);
  const said = services.flatMap((service) =>
    service
      .log()
      .split('\n')
      .filter((line) => /does not exist|ERROR|FATAL/.test(line)),
  );
  check(
    'no process met a table or column that it does not know',
    said.length === 0,
    said.slice(0, MAX_SHOWN).join('\n       '),
  );
}

async function counts(stage: Stage): Promise<void> {
  await until(
    'the last recount of a source',
    60,
    async () => (await stage.sql('SELECT 1 FROM inventory_recount')).length === 0,
  );
  const said = await runToEnd(['reconcile-counts'], stage.settings).catch((error: unknown) => (error as { stdout?: string }).stdout ?? String(error)); // prettier-ignore
  check('the counts are those that a recount gives', said.includes('All counts are correct.'), said.trim());
  const [assets] = await stage.sql<{ assets: number; counted: number }>(
    `SELECT (SELECT count(*)::int FROM asset WHERE state = 'active') AS assets,
       (SELECT sum(count)::int FROM inventory_tally WHERE dimension = 'state' AND value = 'active') AS counted`,
  );
  check(
    'as many assets as are counted',
    assets?.assets === assets?.counted,
    `${assets?.assets} and ${assets?.counted}`,
  );
}

const earlier = await earlierVersion(values.from, values.built);
const stage = await openStage({ ownPostgres: true });
try {
  const old = { dist: earlier.dist };
  await stage.sql('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  await runToEnd(['migrate'], stage.settings, { dist: earlier.dist });
  const apiKey = await seededKey(stage, earlier.dist);
  const oldApi = await stage.start({ role: 'api', ...old });
  const oldWorker = await stage.start({ role: 'worker', ...old });
  const traffic = new Traffic(apiKey, await registerSensor(oldApi, apiKey));
  const before = { version: 'old', service: oldApi };
  traffic.to([before]);
  traffic.start();
  say(`from ${earlier.commit}: ${PHASES} phases of ${Math.round(PHASE_MS / 1000)} s`);
  await sleep(PHASE_MS);

  const port = await freePort();
  const starting = stage.start({ role: 'api', settings: { SVC_PORT: String(port) } });
  const waiting = await until('the new api', 60, () => readiness(port));
  check('the new version waits on the old schema, and says what to do', waiting.status === 503 && waiting.text.includes('migrate'), waiting.text); // prettier-ignore
  const began = performance.now();
  const migrated = await runToEnd(['migrate'], stage.settings);
  say(`migrated in ${Math.round(performance.now() - began)} ms: ${migrated.trim().split('\n').join(', ')}`);
  const newApi = await starting;
  const after = { version: 'new', service: newApi };
  await sleep(PHASE_MS);

  const newWorker = await stage.start({ role: 'worker' });
  traffic.to([before, after]);
  await sleep(PHASE_MS);
  traffic.to([after]);
  await retire(oldApi);
  await sleep(PHASE_MS);
  await retire(oldWorker);
  await sleep(PHASE_MS);
  await traffic.stop();

  await atTheEnd(stage, traffic, [oldApi, oldWorker, newApi, newWorker]);
  const { body } = await newApi.call('GET', '/api/settings/instances', { key: apiKey });
  check('the processes that run are the new ones', body.items.length === 2, JSON.stringify(body.items));
  const { body: health } = await newApi.call('GET', '/actuator/health', { key: apiKey });
  check('health is UP', health.status === 'UP', JSON.stringify(health));
  await counts(stage);
} finally {
  await stage.close();
  await earlier.remove();
}
conclude('nobody noticed the upgrade');
