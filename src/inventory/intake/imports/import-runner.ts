import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { mayDo } from '../../../access/scopes.js';
import { giverOf } from '../../../access/caller.js';
import { rightsOf } from '../../../auth/rights/credential-rights.js';
import { type Announcement, EventAnnouncer } from '../../../events/event-announcer.service.js';
import { isId } from '../../../platform/database/new-id.js';
import { causeOf } from '../../../platform/errors/database-error.js';
import { underLease } from '../../../platform/work/claim.js';
import { WorkPool } from '../../../platform/work/work-pool.js';
import { Problem } from '../../../platform/errors/problem.js';
import type { IngestProgress } from '../staging/ingest-order.js';
import type { IngestOutcome } from '../../model/document.js';
import { transferable } from '../../../platform/observability/external-memory.js';
import { Background } from '../../../platform/work/background.js';
import { BackgroundJobs } from '../../../platform/work/background-jobs.js';
import { type ClaimedRow, dueRowsOf, WorkQueue } from '../../../platform/work/work-queue.js';
import { IngestThreads } from './ingest-threads.js';
import { ImportBodies } from './import-bodies.js';
import type { InventoryImport } from './inventory-import.entity.js';

const JOB = 'inventory-imports';
const QUEUE = {
  table: 'inventory_import',
  attempt: 'attempts',
  dueAt: 'lease_until',
  open: 'ended_at IS NULL',
  order: 'turn, id',
  columns: 't.bytes, t."order"',
  begin: `status = 'RUNNING', phase = 'READING', done = 0, total = 0, started_at = coalesce(started_at, now())`,
  leaseSeconds: 10,
  firstPauseSeconds: 5,
  longestPauseSeconds: 20,
};
/** Interval of lease renewals. Each renewal also stores the progress that the API returns. */
const RENEW_EVERY_MS = 1000;
const MAX_ATTEMPTS = 5;
/** SMALL_BYTES is the maximum size of an import that may run in parallel with an import of another caller. An import of this size needs little memory. */
const SMALL_BYTES = 4 * 1024 * 1024;

type ImportCaller = InventoryImport['order']['caller'];

type Claimed = ClaimedRow & Pick<InventoryImport, 'bytes' | 'order'>;
/** End is the result of one attempt. `again` is the minimum number of seconds until the import is retried. */
type End = { outcome: IngestOutcome } | { problem: Problem } | { again: number };

/**
 * ImportRunner runs imports one at a time and serves callers in turn. A small import may run in parallel with another caller's import, which may take many
 * minutes. An import is claimed by compare-and-set, with a lease that is renewed regularly. If the worker of an import is lost, another worker runs the import
 * again. A document is stored in one transaction, and therefore never partially. The idempotency key identifies a document that was already committed.
 */
@Injectable()
export class ImportRunner implements BeforeApplicationShutdown {
  private readonly logger = new Logger(ImportRunner.name);
  /** IDs of the callers whose imports run in this process. */
  private readonly callers = new Set<string>();
  private readonly queue: WorkQueue<Claimed>;
  private readonly imports = new WorkPool<Claimed>({
    max: 2,
    claim: () => this.claim(),
    // An import that crashes the process at each attempt would also crash other processes.
    run: async (claimed) =>
      this.finish(claimed, claimed.attempt > MAX_ATTEMPTS ? { again: 0 } : await this.runAlone(claimed)),
    failed: (error, { id }) => this.logger.warn(`import ${id} is postponed: ${causeOf(error)}`),
  });

  constructor(
    private readonly db: DataSource,
    private readonly bodies: ImportBodies,
    private readonly threads: IngestThreads,
    private readonly jobs: BackgroundJobs,
    private readonly events: EventAnnouncer,
  ) {
    this.queue = new WorkQueue(db, QUEUE);
  }

  beforeApplicationShutdown(): void {
    // Running imports are reclaimed once their leases expire.
    void this.imports.stop();
  }

  /** Wakes the job. Call this method after committing an import. */
  wake(): void {
    this.jobs.wake(JOB);
  }

  @Background({ name: JOB, scope: 'process', due: dueRowsOf(QUEUE), quotesErrors: false })
  fill(): Promise<void> {
    return this.imports.fill();
  }

  private claim(): Promise<Claimed[]> {
    const callers = [...this.callers];
    if (callers.length === 0) return this.queue.claim(1);
    return this.queue.claim(1, `bytes <= ${SMALL_BYTES} AND "order" -> 'caller' ->> 'id' <> ALL($1)`, [callers]);
  }

  /** Runs an import. Marks the caller as busy, so that this process runs no other import of the same caller. */
  private async runAlone(claimed: Claimed): Promise<End> {
    const { id } = claimed.order.caller;
    this.callers.add(id);
    try {
      return await this.run(claimed);
    } finally {
      this.callers.delete(id);
    }
  }

  private async run(claimed: Claimed): Promise<End> {
    let progress: IngestProgress = { phase: 'READING', done: 0, total: 0 };
    const renew = () => this.renew(claimed, progress);
    try {
      const outcome = await underLease(RENEW_EVERY_MS, renew, async () => {
        const caller = await this.callerNow(claimed.order.caller);
        const body = await this.bodies.read(this.db.manager, claimed.id, claimed.bytes);
        const order = { ...claimed.order, caller, bytes: transferable(body), password: undefined };
        return this.threads.take(order, (now) => (progress = now));
      });
      return { outcome };
    } catch (error) {
      if (error instanceof Problem && error.kind !== 'unavailable' && error.kind !== 'overloaded')
        return { problem: error };
      this.logger.warn(
        `an import failed on attempt ${claimed.attempt}: ${error instanceof Error ? error.message : ''}`,
      );
      return { again: error instanceof Problem ? (error.retryAfter ?? 0) : 0 };
    }
  }

  /**
   * Returns the caller of an import with the caller's current permissions, because an import must not use permissions that have been revoked.
   *
   * @throws Problem 403 `import.rights-ended`
   */
  private async callerNow(caller: ImportCaller): Promise<ImportCaller> {
    const giver = giverOf(caller, caller.ownerId);
    if (caller.kind === 'system' || !isId(giver)) return caller;
    const rights = await rightsOf(this.db.manager, giver);
    if (rights === undefined || !mayDo(rights, 'inventory:report')) throw rightsEnded(caller);
    const mayWrite = (caller.mayWrite ?? true) && mayDo(rights, 'inventory:write');
    const mayRead = (caller.mayRead ?? true) && mayDo(rights, 'inventory:read');
    return { ...caller, mayWrite, mayRead };
  }

  private renew(claimed: Claimed, { phase, done, total }: IngestProgress): Promise<boolean> {
    return this.queue.renew(claimed, 'phase = $3, done = $4, total = $5', [phase, done, total]);
  }

  /** Records the result, unless another worker has claimed the import in the meantime. */
  private async finish(claimed: Claimed, end: End): Promise<void> {
    const over = !('again' in end) || claimed.attempt >= MAX_ATTEMPTS;
    const status = 'outcome' in end ? 'DONE' : 'problem' in end ? 'REFUSED' : over ? 'FAILED' : 'WAITING';
    const outcome = 'outcome' in end ? JSON.stringify(end.outcome) : null;
    // A short import ends before the first lease renewal, which would store this number.
    const received = 'outcome' in end ? end.outcome.received : null;
    const problem = 'problem' in end ? JSON.stringify(plain(end.problem)) : null;
    const wait = 'again' in end ? end.again : 0;
    await this.db.transaction(async (tx) => {
      const isOurs = await this.queue.postpone(
        claimed,
        Math.max(wait, this.queue.pauseAfter(claimed)),
        `status = $3, outcome = $4, problem = $5, total = coalesce($7, total), done = coalesce($7, total),
         ended_at = CASE WHEN $6 THEN now() END`,
        [status, outcome, problem, over, received],
        tx,
      );
      if (!isOurs || !over) return;
      await this.bodies.forget(tx, claimed.id);
      await this.events.announce(tx, announcementOf(claimed, end));
    });
  }
}

/** Returns the event about a finished import. */
function announcementOf({ id, order: { caller } }: Claimed, end: End): Announcement {
  const common = { subject: { kind: 'import', id }, ownerId: caller.ownerId, callerId: caller.id, at: new Date() };
  if ('outcome' in end) {
    const { source, received, created, updated, rejected } = end.outcome;
    const counts = { received, created, updated, rejected: rejected.length };
    return {
      ...common,
      type: 'import.completed',
      data: { importId: id, source, ...counts },
      title: `Import from ${source} completed`,
      facts: Object.entries(counts).map(([name, value]) => ({ name, value: String(value) })),
    };
  }
  const code = 'problem' in end ? { code: end.problem.code } : {};
  const why = 'problem' in end ? end.problem.message : 'All attempts failed.';
  return {
    ...common,
    type: 'import.failed',
    data: { importId: id, ...code },
    title: 'Import failed',
    facts: [{ name: 'Why', value: why }],
  };
}

function rightsEnded({ name }: ImportCaller): Problem {
  const detail = `${name} can no longer report, so the document was not imported. Send the document again with a different key.`;
  return new Problem('forbidden', 'import.rights-ended', detail);
}

function plain({ kind, code, message, errors }: Problem) {
  return { kind, code, message, errors };
}
