import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { Clients } from './cluster/clients.js';
import { Faults, type Injected } from './cluster/faults.js';
import { stretchesOf5xx } from './cluster/outages.js';
import { closeOnSignals } from './cluster/part.js';
import { Stack } from './cluster/stack.js';
import { judge, type Verdict } from './cluster/verdict.js';
import { quantile } from './signing/figures.js';
import { readLog } from './signing/log.js';
import { Findings } from './support/findings.js';
import { until } from './support/until.js';

/**
 * npm run proof -- cluster [--failovers N] [--losses N] [--minutes N] [--parts postgres,redis,partitions,node,rolling] [--control asynchronous] [--logs DIR]
 * Runs the service on three machines (network namespaces) with PostgreSQL under Patroni, etcd, HAProxy, pgbouncer, Redis under Sentinel and two tokens,
 * while each part fails in turn. Exits with 0 if nothing acknowledged was lost, nothing was done twice, and no api answered 5xx for longer than
 * 15 s; with --control, if asynchronous replication lost something.
 */
const PARTS = ['postgres', 'redis', 'partitions', 'node', 'rolling'] as const;
const { values } = parseArgs({
  options: {
    failovers: { type: 'string', default: '20' },
    losses: { type: 'string', default: '2' },
    minutes: { type: 'string', default: '60' },
    parts: { type: 'string', default: PARTS.join(',') },
    control: { type: 'string' },
    logs: { type: 'string' },
  },
});
const MAX_5XX_SECONDS = 15;
const MAX_SHOWN = 10;
const DRAIN_SECONDS = 120;
const WARM_UP_MS = 5000;
const SPLIT_MS = 25_000;
const isControl = values.control === 'asynchronous';
const started = performance.now();
const findings = new Findings(true);
const { say, check } = findings;

/** Injects all faults of the selected parts one after another until the time limit is reached. */
async function inject(faults: Faults): Promise<void> {
  const times = (count: string, fault: (turn: number) => Promise<void>) =>
    Array.from({ length: Number(count) }, (_, turn) => () => fault(turn));
  const plans: Readonly<Record<string, (() => Promise<void>)[]>> = {
    postgres: times(values.failovers, (turn) => faults.databaseFailOver(turn)),
    redis: times(values.failovers, (turn) => faults.redisFailOver(turn)),
    partitions: times(String(faults.partitions), (turn) => faults.partition(turn)),
    node: times(values.losses, () => faults.lossOfNode()),
    rolling: [() => faults.rollingRestart()],
  };
  const end = performance.now() + Number(values.minutes) * 60_000;
  const planned = values.parts.split(',').flatMap((part) => plans[part] ?? []);
  for (const [done, fault] of planned.entries()) {
    if (performance.now() > end)
      return say(`       the time is over: ${planned.length - done} faults were not injected`);
    await fault();
  }
}

/** Waits until no work is in progress: every client has a response, all workers have finished, and the log contains all entries. */
async function drain(stack: Stack, clients: Clients): Promise<void> {
  await clients.stop(DRAIN_SECONDS * 1000);
  await until('the last work to end', DRAIN_SECONDS, async () => {
    const [row] = await stack.postgres.sql<{ left: number }>(
      `SELECT ((SELECT count(*) FROM signing_request WHERE finished_at IS NULL) + (SELECT count(*) FROM log_waiting)
         + (SELECT count(*) FROM outbox_message))::int AS left`,
    );
    return row?.left === 0;
  });
}

function figures(injected: readonly Injected[]): void {
  const byKind = Map.groupBy(injected, ({ what }) => what.replace(/ of n\d|n\d /, ''));
  for (const [kind, some] of byKind) {
    const times = some.map(({ pauseSeconds }) => pauseSeconds).toSorted((a, b) => a - b);
    const [median, worst] = [quantile(times, 0.5), quantile(times, 1)].map((seconds) => seconds.toFixed(1));
    say(`       ${some.length} × ${kind}: first write ${median} s after the last (median), ${worst} s (worst)`);
  }
}

function lines(some: readonly string[]): string {
  return some.slice(0, MAX_SHOWN).join('\n              ');
}

async function conclude(stack: Stack, clients: Clients, faults: Faults): Promise<Verdict> {
  const verdict = await judge(stack.postgres, clients.acknowledged.values());
  const { calls, acknowledged } = clients;
  const status = Map.groupBy(calls, (call) => `${call.status} ${call.code}`.trim());
  for (const [name, some] of status) say(`       ${some.length} × ${name}`);
  figures(faults.injected);
  say(`       ${stack.postgres.remade} members of PostgreSQL had to be made anew`);
  const lost = `lost ${verdict.lost.length} of ${acknowledged.size}`;
  if (isControl) {
    check(
      'without confirmation something is lost',
      verdict.lost.length > 0,
      `${lost}\n              ${lines(verdict.lost)}`,
    );
    return verdict;
  }
  check('nothing acknowledged is lost', verdict.lost.length === 0, `${lost} ${lines(verdict.lost)}`);
  check('nothing is done twice', verdict.twice.length === 0, `twice ${verdict.twice.length} ${lines(verdict.twice)}`);
  check('every piece of work was answered', clients.open.size === 0, `open ${clients.open.size}`);
  check(
    'no call was refused',
    clients.refused.length === 0,
    `refused ${clients.refused.length} ${lines(clients.refused)}`,
  );
  const stretches = stretchesOf5xx(calls, faults.excuses);
  const [longest] = stretches;
  const shown = stretches
    .slice(0, 5)
    .map(({ node, seconds, from }) => `n${node} ${seconds.toFixed(1)} s at ${((from - started) / 1000).toFixed(0)} s`);
  check(
    `no api answers 5xx for longer than ${MAX_5XX_SECONDS} s`,
    (longest?.seconds ?? 0) <= MAX_5XX_SECONDS,
    shown.join(', '),
  );
  return verdict;
}

/** Verifies the audit log as an auditor does: the log must be a single tree that contains every entry once. */
async function auditLog(stack: Stack): Promise<void> {
  const node = stack.network.nodes[0];
  const log = await readLog(stack.postgres, stack.service.url(node), stack.service.apiKey);
  const isWhole = log.findings.length === 0 && log.leaves.length === log.entries;
  check(
    'the audit log verifies',
    isWhole,
    `${log.leaves.length} leaves, ${log.entries} entries ${lines(log.findings)}`,
  );
}

/**
 * Isolates the leader's machine from the other machines while writes continue there. Without synchronous replication, the leader acknowledges writes that have
 * not reached any other machine.
 */
async function loseSomething(stack: Stack, clients: Clients): Promise<void> {
  const leader = await stack.postgres.settled();
  clients.only = leader;
  stack.network.split(leader);
  await sleep(SPLIT_MS);
  clients.only = undefined;
  stack.network.heal();
  await stack.postgres.settled();
}

/** Prints what each api reports about replication and about the log, whose latest state is stored in the tokens. */
async function whatIsSaid(stack: Stack): Promise<void> {
  for (const node of stack.network.nodes) {
    const { components } = JSON.parse(await stack.service.health(node)) as Said;
    for (const name of ['log', 'replication'])
      say(`       n${node} says of ${name}: ${components[name]?.details.detail ?? 'nothing'}`);
  }
}

interface Said {
  readonly components: Readonly<Record<string, { readonly details: { readonly detail: string } }>>;
}

const stack = new Stack(!isControl);
closeOnSignals(() => stack.close(values.logs));
try {
  await stack.start();
  say(`three machines run; n${await stack.postgres.settled()} leads`);
  const clients = new Clients({
    nodes: stack.network.nodes,
    url: (node) => stack.service.url(node),
    apiKey: stack.service.apiKey,
  });
  clients.start();
  await sleep(WARM_UP_MS);
  const faults = new Faults(stack, clients, say);
  if (isControl) await loseSomething(stack, clients);
  else await inject(faults);
  await sleep(WARM_UP_MS);
  if (isControl) await clients.stop(DRAIN_SECONDS * 1000);
  else await drain(stack, clients);
  await conclude(stack, clients, faults);
  if (isControl) await whatIsSaid(stack);
  if (!isControl) await auditLog(stack);
} finally {
  await stack.close(values.logs);
}
findings.conclude('the cluster holds');
