import type { INestApplicationContext } from '@nestjs/common';
import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { IdentityProvidersService } from '../../auth/sso/providers/identity-providers.service.js';
import { AdministratorWatch } from '../../auth/people/users/administrator-watch.js';
import { ApprovalPoliciesService, type IgnoredException } from '../../approvals/policies/approval-policies.service.js';
import { LogRestore } from '../../audit/log/log-restore.js';
import type { StreamState } from '../../audit/stream/audit-stream.repository.js';
import { KeyVault } from '../../hsm/key-vault.js';
import { CatalogueCheck } from '../../platform/sealing/catalogue-check.js';
import { Config } from '../../platform/config/config.js';
import { operatorsWords } from '../../platform/errors/database-error.js';
import { missingSearchIndexes } from '../../platform/database/search-indexes.js';
import { HealthIndicators } from '../../platform/observability/health-indicators.js';
import { MISSED_AFTER_MS } from '../../platform/instances/instance-indicators.js';
import {
  type InstanceJobs,
  InstanceRepository,
  type InstanceRow,
} from '../../platform/instances/instance.repository.js';
import { BACKUP_JOB, type JobState } from '../../platform/work/job-lease.repository.js';
import { QueueHealth } from '../../platform/queue/queue-health.js';
import { ReplicationWatch } from '../../platform/instances/replication-watch.js';
import { asynchronousFault, type Replication, synchronousDetail } from '../../platform/instances/replication.reader.js';
import { detailOf } from '../../platform/sealing/row-seal-health.js';
import { RowSealKeeper } from '../../platform/sealing/row-seal-keeper.js';
import { RowSeals } from '../../platform/sealing/row-seals.js';
import { SealedColumns } from '../../platform/sealing/sealed-columns.js';
import { isFailing } from '../../platform/work/background-job.js';
import { WebhookEndpoint } from '../../notifications/webhooks/webhook-endpoint.entity.js';
import { withoutEffect } from '../../events/catalogue/event-catalogue.js';
import { OperationsService } from '../../system/operations/operations.service.js';

/**
 * Finding is the result of one examination. `bad`: a component does not work now. `warn`: a component will soon stop working, or its failure would go
 * unnoticed.
 */
export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warn' | 'bad';
  readonly detail: string;
  /** First step to take, with the relevant section of docs/runbook.md. */
  readonly next?: string;
}

export function ok(what: string, detail: string): Finding {
  return { what, state: 'ok', detail };
}

export function warn(what: string, detail: string, next: string): Finding {
  return { what, state: 'warn', detail, next };
}

export function bad(what: string, detail: string, next: string): Finding {
  return { what, state: 'bad', detail, next };
}

/** spanOf formats seconds as `3 s`, `5 min`, `7 h` or `12 d`. */
export function spanOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 2 * 86_400 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** Maximum time in milliseconds to wait for Redis; longer than a Redis health check. */
const REDIS_PATIENCE_MS = 3000;
const HSM_PATIENCE_MS = 10_000;
const MAX_CLOCK_OFFSET_MS = 1000;
const MAX_CHECKPOINT_AGE_SECONDS = 300;
const MIN_CERTIFICATE_DAYS = 14;
const MAX_TRANSACTION_SECONDS = 600;
/** Lock waits longer than this are reported. The service aborts statements that wait longer than five seconds. */
const MAX_LOCK_SECONDS = 2;
const MIN_DISK_SHARE = 0.2;
/** Age in seconds after which a queued item is late. Queues that wait for users or hosts have no limit. */
const LATE_SECONDS: Readonly<Record<string, number>> = {
  signing: 30,
  'signing-processing': 120,
  timestamps: 120,
  'audit-log': 60,
  outbox: 60,
  handover: 300,
  'alert-events': 120,
  mail: 600,
  webhooks: 3600,
  'approval-notices': 120,
  imports: 3600,
  'schedule-runs': 3600,
};
/** Delay of an audit log receiver above which the receiver is reported. The alert rule uses the same limit. */
const LATE_STREAM_SECONDS = 300;
/** Age after which a backup is overdue: one day, and two hours for a nightly backup to complete. */
const MAX_BACKUP_AGE_SECONDS = 26 * 3600;
/** Time since the last success after which a job is late. Every job runs at least once a day. */
const LATE_JOB_SECONDS = 2 * 86_400;

type Examination = (app: INestApplicationContext) => Promise<readonly Finding[]>;

/** Examinations that require a database with the current schema. Each examination runs separately, so that a failure does not hide other findings. */
export const EXAMINATIONS: Readonly<Record<string, Examination>> = {
  room: examineRoom,
  locks: examineLocks,
  token: examineToken,
  restore: async (app) => {
    const fault = await app.get(LogRestore).fault();
    if (fault === undefined) return [ok('database and token', 'belong together')];
    return [
      bad(
        'database and token',
        `${fault.code}: ${fault.message}`,
        'docs/restore.md, then: sealwright-admin restore status',
      ),
    ];
  },
  replication: async (app) => {
    const { databaseReplication } = app.get(Config);
    return [examineReplication(await app.get(ReplicationWatch).read(), databaseReplication)];
  },
  redis: examineRedis,
  instances: async (app) => examineInstances(await app.get(InstanceRepository).list(), new Date()),
  queues: examineQueues,
  jobs: examineJobs,
  'background jobs': async (app) => examineBackground(await app.get(InstanceRepository).jobs()),
  backup: async (app) => [examineBackup((await app.get(OperationsService).read()).jobs, app.get(Config).profile)],
  streams: async (app) => examineStreams((await app.get(OperationsService).read()).streams),
  secrets: async (app) => {
    const { looked, notOpenable, reason } = await app.get(SealedColumns).sample();
    if (notOpenable === 0) return [ok('stored secrets', `can be decrypted (${looked} sampled)`)];
    const detail = `${notOpenable} of ${looked} cannot be decrypted: ${reason}`;
    return [bad('stored secrets', detail, 'runbook: secrets. Add the previous secret to SVC_JWT_SECRET_PREVIOUS')];
  },
  rows: async (app) => {
    const forged = await app.get(RowSealKeeper).forged();
    if (forged.length === 0 && !app.get(RowSeals).isStrict)
      return [ok('sealed rows', 'rows of the previous version are sealed once the upgrade is complete')];
    if (forged.length === 0) return [ok('sealed rows', 'no credential or right was changed outside the service')];
    return forged.map((table) =>
      bad(
        'sealed rows',
        `not written by the service: ${detailOf(table)}`,
        'runbook: rows, then: sealwright-admin seal-rows',
      ),
    );
  },
  catalogue: async (app) => {
    const found = await app.get(CatalogueCheck).findings();
    if (found.length === 0) return [ok('catalogue', 'all database objects were created by migrations')];
    return found.map((object) => bad('catalogue', `not created by the migrations: ${object}`, 'runbook: rows'));
  },
  indicators: async (app) => {
    const { log, tsa, mail } = await app.get(HealthIndicators).read();
    return Object.entries({ log, tsa, mail }).flatMap(([name, indication]) => {
      if (indication === undefined || indication.status === 'UNKNOWN') return [];
      if (indication.status === 'UP') return [ok(name, indication.detail)];
      return [bad(name, indication.detail, `runbook: ${name}`)];
    });
  },
  administrators: examineAdministrators,
  'redirect URIs': examineRedirects,
  policies: async (app) => examinePolicies(await app.get(ApprovalPoliciesService).ignoredExceptions()),
  search: examineSearch,
  webhooks: async (app) => examineWebhooks(await app.get(DataSource).manager.find(WebhookEndpoint)),
  disk: examineDisk,
};

/**
 * Checks that the database disk has space for new files. On a full disk, creating files fails first; reading and updating rows continues to work for a
 * while.
 */
async function examineRoom(app: INestApplicationContext): Promise<readonly Finding[]> {
  const instances = app.get(InstanceRepository);
  const fault = await instances
    .onOneConnection((on) => instances.assertRoom(on))
    .then(
      () => undefined,
      (error: unknown) => operatorsWords(error),
    );
  return [
    fault === undefined ? ok('room', 'the database can write to its disk') : bad('room', fault, 'runbook: database'),
  ];
}

/**
 * Reports transactions that block other transactions. Requests that need the lock fail with `row.busy`, and later examinations may fail as well. Any role
 * can see how long a session has waited, but not how long another role's transaction has been open.
 */
async function examineLocks(app: INestApplicationContext): Promise<readonly Finding[]> {
  const holders: { pid: number; who: string; seconds: number; waiting: number }[] = await app.get(DataSource).query(
    `SELECT h.pid, concat_ws(' ', h.usename, nullif(h.application_name, '')) AS who, count(DISTINCT w.pid)::int AS waiting,
       max(extract(epoch FROM clock_timestamp() - w.waitstart))::float8 AS seconds
     FROM pg_locks w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) blocker (pid) JOIN pg_stat_activity h ON h.pid = blocker.pid
     WHERE NOT w.granted AND h.datname = current_database() GROUP BY h.pid, who ORDER BY seconds DESC LIMIT 5`,
  );
  const late = holders.filter(({ seconds }) => seconds > MAX_LOCK_SECONDS);
  if (late.length === 0) return [ok('locks', 'no transaction blocks other transactions for long')];
  return late.map(({ pid, who, seconds, waiting }) => {
    const detail = `${who} (pid ${pid}) blocks ${waiting}; the longest wait is ${spanOf(seconds)}`;
    return bad('locks', detail, 'runbook: transactions');
  });
}

async function examineToken(app: INestApplicationContext): Promise<readonly Finding[]> {
  const vault = app.get(KeyVault);
  for (let waited = 0; !vault.health().up && waited < HSM_PATIENCE_MS; waited += 100) await sleep(100);
  const { up, detail } = vault.health();
  return up ? [ok('token', detail)] : [bad('token', detail, 'runbook: hsm')];
}

async function examineRedis(app: INestApplicationContext): Promise<readonly Finding[]> {
  const queue = app.get(QueueHealth);
  for (let waited = 0; !queue.reachable && waited < REDIS_PATIENCE_MS; waited += 100) await sleep(100);
  if (queue.reachable && queue.detail === 'ok') return [ok('Redis', 'accepts writes')];
  return [warn('Redis', queue.detail, 'runbook: redis. Nothing is lost: workers poll the database')];
}

/** examineReplication reports whether a failover could lose commits. @param wanted value of SVC_DATABASE_REPLICATION */
export function examineReplication(replication: Replication, wanted: Config['databaseReplication']): Finding {
  const fault = asynchronousFault(replication);
  if (fault === undefined) return ok('replication', synchronousDetail(replication));
  if (wanted !== 'any') return bad('replication', fault, 'runbook: replication');
  if (replication.standbys === 0) return ok('replication', 'no standby is connected, so failover is not possible');
  return warn('replication', fault, 'runbook: replication');
}

/** examineInstances reports stopped processes, mixed versions and clock offsets. @param now time of the local clock, used only to detect stopped processes */
export function examineInstances(instances: readonly InstanceRow[], now: Date): readonly Finding[] {
  const present = instances.filter(({ seenAt }) => now.getTime() - seenAt.getTime() <= MISSED_AFTER_MS);
  const missed = instances.filter((one) => !present.includes(one));
  const versions = [...new Set(present.map(({ version }) => version))];
  const names = (some: readonly InstanceRow[]) =>
    some.map(({ role, host, pid }) => `${role} ${host}:${pid}`).join(', ');
  const wrong = present.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > MAX_CLOCK_OFFSET_MS);
  const [first] = wrong;
  return [
    present.some(({ role }) => role !== 'api')
      ? ok('workers', names(present.filter(({ role }) => role !== 'api')))
      : bad('workers', 'no worker process is running', 'runbook: workers'),
    present.some(({ role }) => role !== 'worker')
      ? ok('api', names(present.filter(({ role }) => role !== 'worker')))
      : bad('api', 'no API process is running', 'runbook: api'),
    missed.length === 0
      ? ok('missed', 'no process stopped unexpectedly in the last day')
      : warn('missed', `stopped unexpectedly: ${names(missed)}`, 'runbook: workers'),
    versions.length <= 1
      ? ok('versions', versions[0] ?? 'none')
      : warn('versions', `mixed versions: ${versions.join(', ')}`, 'docs/upgrade.md: complete the rolling update'),
    first === undefined
      ? ok('clocks', `within ${MAX_CLOCK_OFFSET_MS / 1000} s of the database clock`)
      : bad('clocks', `clocks differ: ${names(wrong)}, the first by ${first.clockOffsetMs} ms`, 'runbook: clock'),
  ];
}

async function examineQueues(app: INestApplicationContext): Promise<readonly Finding[]> {
  const { backlogs, checkpointAge, certificateDays, oldestTransaction } = await app.get(OperationsService).read();
  const queues = backlogs.map(({ queue, depth, oldestSeconds }): Finding => {
    const limit = LATE_SECONDS[queue.split('/', 1)[0] ?? ''];
    const detail = depth === 0 ? 'empty' : `${depth} waiting, the oldest for ${spanOf(oldestSeconds)}`;
    const isLate = limit !== undefined && oldestSeconds > limit;
    return isLate ? bad(`queue ${queue}`, detail, 'runbook: queues') : ok(`queue ${queue}`, detail);
  });
  const waits = backlogs.some(({ queue, depth }) => queue === 'audit-log' && depth > 0);
  const isOld = waits && checkpointAge !== undefined && checkpointAge > MAX_CHECKPOINT_AGE_SECONDS;
  const age = checkpointAge === undefined ? 'none has been signed yet' : `signed ${spanOf(checkpointAge)} ago`;
  return [
    ...queues,
    isOld ? bad('checkpoint', age, 'runbook: log') : ok('checkpoint', age),
    ...certificateDays.map(({ name, value }) => {
      const detail = `the next one expires in ${Math.floor(value)} days`;
      const what = `certificates of ${name}`;
      return value < MIN_CERTIFICATE_DAYS ? warn(what, detail, 'runbook: certificates') : ok(what, detail);
    }),
    oldestTransaction > MAX_TRANSACTION_SECONDS
      ? warn('transactions', `the oldest has been open for ${spanOf(oldestTransaction)}`, 'runbook: transactions')
      : ok('transactions', `the oldest has been open for ${spanOf(oldestTransaction)}`),
  ];
}

async function examineJobs(app: INestApplicationContext): Promise<readonly Finding[]> {
  const { jobs } = await app.get(OperationsService).read();
  return jobs
    .filter(({ name }) => name !== BACKUP_JOB)
    .map(({ name, ageSeconds, lastError }): Finding => {
      const what = `job ${name}`;
      const detail = ageSeconds === null ? 'has not succeeded yet' : `succeeded ${spanOf(ageSeconds)} ago`;
      if (lastError !== null) return bad(what, `${detail}; the last run failed: ${lastError}`, 'runbook: jobs');
      return (ageSeconds ?? 0) > LATE_JOB_SECONDS ? warn(what, detail, 'runbook: jobs') : ok(what, detail);
    });
}

/**
 * examineBackground reports the jobs that run in every process: the first process in which the job fails or, if there is none, the latest success of the
 * job in any process. The examination `jobs` reports cluster-wide jobs.
 */
export function examineBackground(instances: readonly InstanceJobs[]): readonly Finding[] {
  const present = instances.filter(({ agoMs }) => agoMs <= MISSED_AFTER_MS);
  const all = present.flatMap(({ role, host, pid, jobs }) =>
    jobs.filter(({ scope }) => scope === 'process').map((job) => ({ ...job, process: `${role} ${host}:${pid}` })),
  );
  return [...Map.groupBy(all, ({ name }) => name)].map(([name, jobs]): Finding => {
    const what = `background job ${name}`;
    const failing = jobs.find(isFailing);
    if (failing !== undefined) {
      const { process, consecutiveFailures, lastError } = failing;
      return bad(what, `failed ${consecutiveFailures} times in a row in ${process}: ${lastError}`, 'runbook: jobs');
    }
    const successes = jobs.flatMap(({ lastSuccessAt }) => lastSuccessAt ?? []).toSorted();
    return ok(what, successes.length === 0 ? 'not due yet' : `succeeded at ${successes.at(-1)}`);
  });
}

/** examineBackup reports the age of the last successful backup. A trial installation needs no backup. */
export function examineBackup(jobs: readonly JobState[], profile: Config['profile']): Finding {
  const found = jobs.find(({ name }) => name === BACKUP_JOB);
  const next = 'runbook: backup';
  const age = found?.ageSeconds ?? null;
  const detail = age === null ? 'no backup has been recorded' : `the last successful backup is ${spanOf(age)} old`;
  if (found !== undefined && found.lastError !== null)
    return bad('backup', `${detail}; the last attempt failed: ${found.lastError}`, next);
  if (age !== null && age <= MAX_BACKUP_AGE_SECONDS) return ok('backup', detail);
  return profile === 'prod' ? warn('backup', detail, next) : ok('backup', `${detail} (not required in profile dev)`);
}

export function examineStreams(streams: readonly StreamState[]): readonly Finding[] {
  return streams.map(({ name, waiting, oldestSeconds, lastError }): Finding => {
    const what = `stream ${name}`;
    const behind =
      waiting === 0 ? 'the receiver is up to date' : `${waiting} waiting, the oldest for ${spanOf(oldestSeconds)}`;
    const detail = lastError === null ? behind : `${behind}; delivery failed: ${lastError}`;
    if (oldestSeconds > LATE_STREAM_SECONDS) return bad(what, detail, 'runbook: streams');
    return lastError === null ? ok(what, detail) : warn(what, detail, 'runbook: streams');
  });
}

/** Reports an installation to which no administrator can sign in. */
async function examineAdministrators(app: INestApplicationContext): Promise<readonly Finding[]> {
  const { status, detail } = await app.get(AdministratorWatch).read();
  if (status === 'UP') return [ok('administrators', detail)];
  return [bad('administrators', detail, 'runbook: administrators')];
}

/**
 * Reports OpenID Connect providers that use the redirect URL of earlier versions. Providers that share a URL can only be distinguished by the issuer
 * in the response.
 */
async function examineRedirects(app: INestApplicationContext): Promise<readonly Finding[]> {
  const what = 'redirect URIs';
  const sharing = await app.get(IdentityProvidersService).sharingRedirect();
  if (sharing.length === 0) return [ok(what, 'every OpenID Connect provider has its own redirect URI')];
  const names = sharing.map(({ name }) => name).join(', ');
  const next =
    'docs/access.md, "Redirect URIs": register the provider-specific URI with the provider, then set `redirect` to `own`';
  if (sharing.length === 1) return [warn(what, `${names} uses the redirect URI of earlier versions`, next)];
  const detail = `${names} share the redirect URI of earlier versions; responses without an issuer (RFC 9207) are rejected`;
  return [bad(what, detail, next)];
}

/** Reports exceptions stored by earlier versions that can never apply. Requests that these exceptions exempted now need approval. */
export function examinePolicies(exceptions: readonly IgnoredException[]): readonly Finding[] {
  const ignored = exceptions.map(({ policy, fact }) => `"${policy}" (${fact})`);
  if (ignored.length === 0) return [ok('approval policies', 'every exception depends on a verified fact')];
  const detail = `exceptions that never apply because callers choose their facts: ${ignored.join(', ')}`;
  return [warn('approval policies', detail, 'docs/approvals.md: remove them, or use verified facts')];
}

/** Reports missing search indexes, without which searches are slow on a large inventory. A small inventory needs no search indexes. */
async function examineSearch(app: INestApplicationContext): Promise<readonly Finding[]> {
  const missing = await missingSearchIndexes(app.get(DataSource));
  if (missing.length === 0) return [ok('search', 'substring searches are fast enough')];
  const detail = `indexes missing in the database: ${missing.map(({ name }) => name).join(', ')}`;
  const next =
    'docs/scaling.md: ask a database administrator to run CREATE EXTENSION pg_trgm, then migrate again or wait an hour';
  return [warn('search', detail, next)];
}

/** Reports webhook subscriptions to nonexistent events. Earlier versions accepted such subscriptions. */
export function examineWebhooks(endpoints: readonly Pick<WebhookEndpoint, 'name' | 'events'>[]): readonly Finding[] {
  const found = endpoints.flatMap(({ name, events }): Finding[] => {
    const unknown = withoutEffect(events);
    if (unknown.length === 0) return [];
    const detail = `subscribes to unknown events: ${unknown.join(', ')}`;
    return [warn(`webhook ${name}`, detail, 'docs/events.md: replace the subscription')];
  });
  return found.length > 0 ? found : [ok('webhooks', 'every subscription matches an event')];
}

/** Checks this machine's disk. The database operator monitors the database disk. */
async function examineDisk(app: INestApplicationContext): Promise<readonly Finding[]> {
  const { bavail, blocks, bsize } = await statfs(process.cwd());
  const gigabytes = (bytes: number) => (bytes / 1024 ** 3).toFixed(1);
  const detail = `${gigabytes(bavail * bsize)} of ${gigabytes(blocks * bsize)} GB are free on this machine`;
  const tables = [...(await app.get(OperationsService).tableBytes())].sort((one, other) => other.value - one.value);
  const largest = tables.slice(0, 3).map(({ name, value }) => `${name} ${gigabytes(value)} GB`);
  const sum = tables.reduce((bytes, { value }) => bytes + value, 0);
  return [
    bavail / blocks < MIN_DISK_SHARE ? warn('disk', detail, 'runbook: disk') : ok('disk', detail),
    ok('tables', `${gigabytes(sum)} GB in the database; the largest: ${largest.join(', ')}`),
  ];
}
