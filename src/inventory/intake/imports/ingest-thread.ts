import 'reflect-metadata';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { DataSource } from 'typeorm';
import { AuditSeals } from '../../../audit/entries/audit-seals.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { Config } from '../../../platform/config/config.js';
import { dataSourceOptions } from '../../../platform/database/data-source-options.js';
import { Cursors } from '../../../platform/http/cursors.js';
import { EventBus } from '../../../platform/events/events.js';
import { IdempotencyKeys } from '../../../platform/http/idempotency-keys.js';
import { RowSeals } from '../../../platform/sealing/row-seals.js';
import { RuleBook } from '../../judgement/risk/rule-book.js';
import { faultReply } from './ingest-faults.js';
import { DocumentIngest } from '../staging/ingest-document.js';
import { DerivationBudget } from '../../../formats/pkcs/password-encryption.js';
import type { CredentialOptions } from '../key-files/credential-reader.js';
import type { IngestMessage, IngestOrder, IngestReply } from '../staging/ingest-order.js';

/** Limits for statements and connections. A document with several hundred thousand components takes longer than the service allows for other statements. */
const LIMITS = {
  // A low-priority thread needs seconds for the handshake when all cores are busy.
  connectionTimeoutMillis: 15_000,
  query_timeout: 310_000,
  statement_timeout: 300_000,
  lock_timeout: 60_000,
  idle_in_transaction_session_timeout: 120_000,
};

/** Interval of heartbeats. IngestThreads terminates this thread if heartbeats are missing for too long. */
const ALIVE_EVERY_MS = 500;

/** Lowers the priority of this thread only, so that other requests take precedence when cores are scarce. Only Linux supports thread priorities. */
const NICENESS = 10;
if (process.platform === 'linux') setPriority(NICENESS);

const config = new Config();
const options = dataSourceOptions(config);
const db = new DataSource({ ...options, poolSize: 1, extra: { ...(options.extra as object), ...LIMITS } });
// Audit entries read the changes in their transaction from the RowSeals of the data source. This thread itself does not seal rows.
void new RowSeals(config, db, new EventBus());
const documents = new DocumentIngest(
  db,
  new AuditService(db, new Cursors(config), new AuditSeals(config)),
  new IdempotencyKeys(db),
  new RuleBook(db),
  {
    mergeLock: workerData as string,
    maxAssets: config.reporterMaxAssets,
    mergeMs: config.ingestStallSeconds * 1000,
  },
);

async function reply({ job, order, confirmedUntil, derivations }: IngestMessage): Promise<IngestReply> {
  const budget = new DerivationBudget(derivations);
  const result = await resultOf(job, { ...order, derivations: budget }, confirmedUntil);
  return { job, derivations: budget.spent, ...result };
}

async function resultOf(
  job: number,
  order: IngestOrder & CredentialOptions,
  confirmedUntil: Date | undefined,
): Promise<Omit<IngestReply, 'job'>> {
  try {
    if (!db.isInitialized) await db.initialize();
    return { outcome: await documents.ingest(order, confirmedUntil, (progress) => send({ job, progress })) };
  } catch (error) {
    return faultReply(error);
  }
}

function send(message: IngestReply): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
}

send({ job: 0, alive: true });
setInterval(() => send({ job: 0, alive: true }), ALIVE_EVERY_MS).unref();

// Messages are processed sequentially, because the thread has one connection and documents are stored in arrival order.
let last: Promise<void> = Promise.resolve();
parentPort?.on('message', (message: IngestMessage | 'stop') => {
  last = last.then(async () => {
    if (message === 'stop') {
      if (db.isInitialized) await db.destroy();
      parentPort?.close();
    } else {
      send(await reply(message));
    }
  });
});
