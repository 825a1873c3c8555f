import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, runCli } from './cluster.js';
import { breakCopy, type ControlName, CONTROLS, DIST } from './controls.js';
import { type Evidence, type LogEvidence, readDatabase, sortOperations } from './evidence.js';
import { FaultInjector, type Injected } from './faults.js';
import { Environment } from './environment.js';
import { drawIntents, type Intent, OWN_KEYS } from './intents.js';
import { INVARIANTS } from './invariants/all.js';
import type { Finding } from './invariants/finding.js';
import { Load } from './load.js';
import { readLog } from './log.js';
import { Observer } from './observer.js';
import { People } from './people.js';
import { Random } from './random.js';
import { drawSchedule, FAULT_KINDS, type FaultKind, type PlannedFault, scheduleText } from './schedule.js';
import { SecretSearch } from './secrets.js';
import { readToken } from './token.js';

export interface Options {
  readonly seed: number;
  /** Duration of the load. */
  readonly seconds: number;
  /** Requests per second. */
  readonly rate: number;
  readonly faults: number;
  /** SVC_PKCS11_DEADLINE_MS, from which leases and freezes are derived. */
  readonly deadlineMs: number;
  readonly control?: ControlName;
  /** Restricts the faults to these kinds. */
  readonly kinds?: readonly FaultKind[];
  /** Directory for the process logs and the journal of HSM calls. If undefined, the logs and the journal are removed. */
  readonly logs?: string;
  /** Prints progress. */
  readonly say: (line: string) => void;
}

export interface Outcome {
  readonly seed: number;
  readonly control: ControlName | undefined;
  readonly schedule: readonly PlannedFault[];
  readonly injected: readonly Injected[];
  readonly evidence: Evidence;
  readonly findings: readonly Finding[];
  readonly load: Load;
  readonly drainMs: number;
  /** Failures other than violated invariants: faults that could not be injected, and processes that ended on their own. */
  readonly troubles: readonly string[];
  /** Whether the run passed. A control passes if the expected invariants detect it. */
  readonly passed: boolean;
}

const DRAIN_LIMIT_MS = 120_000;
const OBSERVE_EVERY_MS = 8000;
const SEARCH_EVERY_MS = 5000;

/** Runs the service under load and faults, repairs everything, waits until all requests have ended, and checks the invariants. */
export async function proveSigning(options: Options): Promise<Outcome> {
  const environment = await Environment.open();
  try {
    return await new Run(options, environment).toTheEnd();
  } finally {
    await environment.close();
  }
}

class Run {
  private readonly search = new SecretSearch();
  private readonly observer: Observer;
  private readonly dist: string;
  private readonly env: NodeJS.ProcessEnv;
  private readonly cluster: Cluster;
  /** Email address of the administrator. */
  private administrator = '';

  constructor(
    private readonly options: Options,
    private readonly environment: Environment,
  ) {
    const { control, deadlineMs, seed } = options;
    this.observer = new Observer(environment);
    this.dist = control === undefined ? DIST : breakCopy(control, environment.directory);
    this.env = { ...process.env, ...environment.settings, SVC_PKCS11_DEADLINE_MS: String(deadlineMs) };
    this.cluster = new Cluster(this.dist, this.env, environment.logs, new Random(seed + 1));
  }

  async toTheEnd(): Promise<Outcome> {
    const { seed, seconds, rate, faults, control, say } = this.options;
    const kinds = this.options.kinds ?? (control === undefined ? FAULT_KINDS : CONTROLS[control].faults);
    const schedule = drawSchedule(seed, seconds, faults, kinds);
    const intents = drawIntents(new Random(seed + 2), seconds, rate);
    say(
      `seed ${seed}: ${intents.length} requests in ${seconds} s, ${schedule.length} faults: ${scheduleText(schedule)}`,
    );
    try {
      const apiKey = await this.prepare();
      const world = { urls: () => this.cluster.urls(), apiKey, inspect: this.inspect, random: new Random(seed + 3) };
      const people = await this.gatherPeople(apiKey);
      const load = new Load(world);
      const injector = new FaultInjector({ ...this.options, environment: this.environment, cluster: this.cluster });
      people.work();
      await this.underFaults(load, intents, schedule, injector);
      const { unanswered, drainMs } = await this.drain(load);
      await people.stop();
      await this.readAll(apiKey);
      const log = await readLog(this.environment, this.cluster.urls()[0] ?? '', apiKey);
      const votes = { members: people.members, refusedVotes: people.refused, wrongVotes: people.wrong };
      const evidence = { ...(await this.gather(intents, load, unanswered, log)), ...votes };
      return this.judge(schedule, injector, evidence, load, drainMs);
    } finally {
      await this.cluster.close();
      if (this.options.logs !== undefined) this.environment.keepLogs(this.options.logs);
    }
  }

  private readonly inspect = (body: string, what: string): void => this.search.search('HTTP answers', what, body);

  /** Prepares schema, demo seed, processes and keys. */
  private async prepare(): Promise<string> {
    const { environment, options } = this;
    const facts = join(environment.directory, 'demo.env');
    await runCli(this.dist, ['migrate'], this.env);
    await runCli(this.dist, ['seed-demo', '--out', facts], this.env);
    const text = readFileSync(facts, 'utf8');
    const fact = (name: string): string => new RegExp(`^${name}='(.*)'$`, 'm').exec(text)?.[1] ?? '';
    this.administrator = fact('ADMIN_EMAIL');
    environment.secrets.set('API key', fact('API_KEY')).set('administrator password', fact('ADMIN_PASSWORD'));
    for (const [name, value] of environment.secrets) this.search.add(name, value);
    await this.cluster.start();
    for (const key of OWN_KEYS) await this.createKey(fact('API_KEY'), key);
    options.say('two api and two worker processes run; the keys are made');
    return fact('API_KEY');
  }

  /** Creates the approvers of the guarded key. The requester is the administrator. */
  private async gatherPeople(apiKey: string): Promise<People> {
    const password = this.environment.secret('administrator password');
    const administrator = { email: this.administrator, password };
    const people = new People({ urls: () => this.cluster.urls(), apiKey, administrator });
    await people.prepare();
    for (const token of people.tokens) this.search.add('access token of a person', token);
    return people;
  }

  private async createKey(apiKey: string, key: (typeof OWN_KEYS)[number]): Promise<void> {
    const response = await fetch(`${this.cluster.urls()[0]}/api/v1/signing-keys`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(key),
    });
    const body = await response.text();
    this.inspect(body, 'POST /api/v1/signing-keys');
    if (!response.ok) throw new Error(`key ${key.name} was not made: ${response.status} ${body}`);
  }

  private async underFaults(
    load: Load,
    intents: readonly Intent[],
    schedule: readonly PlannedFault[],
    injector: FaultInjector,
  ): Promise<void> {
    this.observer.watch(OBSERVE_EVERY_MS);
    const searching = setInterval(() => void this.searchLive().catch(() => undefined), SEARCH_EVERY_MS);
    const start = Date.now();
    const faults = schedule.map(async (fault) => {
      await sleep(Math.max(0, start + fault.at - Date.now()));
      await injector.inject(fault);
    });
    await Promise.all([load.run(intents), ...faults]);
    clearInterval(searching);
    this.options.say(`the load has ended after ${injector.injected.length} faults; everything is healed`);
  }

  /** Searches process arguments and Redis for secrets. Redis may be down. */
  private async searchLive(): Promise<void> {
    this.search.searchProcesses(this.cluster);
    await this.search.searchRedis(this.environment);
  }

  /** Waits until the service is idle. All faults have already been repaired. */
  private async drain(load: Load): Promise<{ unanswered: string[]; drainMs: number }> {
    const start = Date.now();
    this.environment.shim.fault('');
    await this.cluster.allUp(60_000);
    const unanswered = await load.finish(DRAIN_LIMIT_MS - (Date.now() - start));
    while (Date.now() - start < DRAIN_LIMIT_MS && (await this.underWay()) > 0) await sleep(100);
    const drainMs = Date.now() - start;
    await this.observer.end();
    await this.observer.look();
    return { unanswered, drainMs };
  }

  private async underWay(): Promise<number> {
    const [row] = await this.environment.sql<{ left: number }>(
      `SELECT (SELECT count(*) FROM signing_request WHERE finished_at IS NULL)::int + (SELECT count(*) FROM outbox_message)::int
         + (SELECT count(*) FROM log_waiting)::int
         + (SELECT count(*) FROM log_head WHERE size > coalesce((SELECT max(size) FROM log_checkpoint), 0))::int AS left`,
    );
    return row?.left ?? 0;
  }

  /** Searches other responses of an api for secrets: health, metrics, lists, and the API description. */
  private async readAll(apiKey: string): Promise<void> {
    const paths = ['actuator/health', 'actuator/prometheus', 'api/v1/audit/entries?limit=200', 'api/v1/signing-keys'];
    paths.push('api/v1/sign/requests?limit=200', 'api/settings/api-keys', 'api-docs', 'swagger-ui.html');
    for (const url of this.cluster.urls()) {
      for (const path of paths) {
        const response = await fetch(`${url}/${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
        this.inspect(await response.text(), `GET /${path}`);
      }
    }
  }

  private async gather(
    intents: readonly Intent[],
    load: Load,
    unanswered: readonly string[],
    log: LogEvidence,
  ): Promise<Omit<Evidence, 'members' | 'refusedVotes' | 'wrongVotes'>> {
    const { environment, search, observer, cluster } = this;
    await this.searchLive();
    await search.searchDatabase(environment);
    search.searchFiles(
      'logs',
      cluster.slots.map(({ logFile }) => logFile),
    );
    search.searchFiles('logs of the stores', environment.storeLogs);
    const database = await readDatabase(environment);
    // The observer reads all rows once more, so that even the latest rows are read twice.
    await observer.look();
    return {
      ...database,
      intents: new Map(intents.map((intent) => [intent.name, intent])),
      answers: load.answers,
      unanswered,
      operations: sortOperations(environment.shim.journal(), intents, database.keys, log.ckaId),
      log,
      observed: { changes: observer.changes, reads: observer.reads, ...observer.counts },
      token: await readToken(environment),
      leaks: [...search.leaks],
      searched: search.summary,
    };
  }

  private judge(
    schedule: readonly PlannedFault[],
    injector: FaultInjector,
    evidence: Evidence,
    load: Load,
    drainMs: number,
  ): Outcome {
    const { seed, control } = this.options;
    const findings = INVARIANTS.map((check) => check(evidence));
    const violated = new Set(findings.filter(({ violations }) => violations.length > 0).map(({ id }) => id));
    const internal = [...load.retries].filter(([what]) => what.startsWith('500'));
    const troubles = [
      ...internal.map(([what, count]) => `${count} calls met ${what}: whatever a store does, the answer is 503`),
      ...injector.failed,
      ...this.cluster.ownEnds,
      ...this.cluster.hungStops,
    ];
    const caught = control !== undefined && CONTROLS[control].caughtBy.some((id) => violated.has(id));
    const passed = control === undefined ? violated.size === 0 && troubles.length === 0 : caught;
    const { injected } = injector;
    return { seed, control, schedule, injected, evidence, findings, load, drainMs, troubles, passed };
  }
}
