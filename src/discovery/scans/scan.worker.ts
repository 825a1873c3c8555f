import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { setTimeout as sleep } from 'node:timers/promises';
import { Config } from '../../platform/config/config.js';
import { WorkPool } from '../../platform/work/work-pool.js';
import { QueueConsumer } from '../../platform/queue/queue-consumer.js';
import { Background } from '../../platform/work/background.js';
import type { ScanResult } from '../scan-result.entity.js';
import { DISCOVERY_QUEUE, type Scan, type ScanScope } from '../scan.entity.js';
import { ScanSweep } from './scan-sweep.js';
import { DUE_SCAN, ScanRepository } from './scan.repository.js';
import { TargetProber } from './target-prober.js';

/** Maximum number of concurrent scans per process. */
const MAX_SCANS = 4;
/** Maximum number of attempts. After that, the scan fails, because the scan itself may be crashing its workers. */
const MAX_ATTEMPTS = 20;
/** Maximum number of concurrent probes per scan. */
const MAX_PROBES = 24;
/** Maximum number of concurrent logins per scan. Each login costs its host a few seconds of work. */
const MAX_LOGINS = 8;
const MAX_PENDING = 500;
const LEASE_RENEWAL_MS = 5000;
/** Maximum time that a scan without progress waits for hosts that other scans are probing. After that, the next of these hosts is recorded as throttled. */
const MAX_WAIT_MS = 15_000;
const IDLE_MS = 250;

/**
 * ScanWorker runs scans: it claims a scan, sweeps for open ports, probes the open ports, records the results, and hands findings over to other modules. All
 * state is in the database, so any worker can resume a scan.
 */
@Injectable()
export class ScanWorker extends QueueConsumer<unknown> {
  private readonly scans = new WorkPool<Scan>({
    max: MAX_SCANS,
    claim: (capacity) => this.repository.claim(capacity),
    run: (scan) => this.run(scan),
    // The lease expires, and another attempt resumes the scan at its cursor.
    failed: (error, { id }) => this.logger.warn(`scan ${id} stopped: ${String(error)}`),
  });

  constructor(
    private readonly repository: ScanRepository,
    private readonly sweep: ScanSweep,
    private readonly prober: TargetProber,
    @InjectQueue(DISCOVERY_QUEUE) queue: Queue<unknown>,
    config: Config,
  ) {
    super(queue, config);
  }

  /** Claims due scans, including scans whose signal was lost or whose worker died. */
  @Background({ name: 'scans', scope: 'process', due: DUE_SCAN })
  protected override answer(): Promise<void> {
    return this.scans.fill();
  }

  /** Stops the running scans. Other workers resume the scans at their cursors. */
  protected override finish(): Promise<void> {
    return this.scans.stop();
  }

  private async run(scan: Scan): Promise<void> {
    if (scan.attempt > MAX_ATTEMPTS) {
      await this.repository.finish(scan, 'FAILED');
      return;
    }
    const scope = await this.repository.scopeOf(scan);
    if (scope === null) return; // the scope was deleted and its scans were cancelled
    const isComplete = await this.sweepAndProbe(scan, scope);
    if (this.scans.isStopping) await this.repository.release(scan);
    else if (isComplete) await this.repository.finish(scan, 'DONE');
  }

  /** Probes open ports while the sweep is running, because the sweep mostly waits for the network. Returns true when both are complete. */
  private async sweepAndProbe(scan: Scan, scope: ScanScope | undefined): Promise<boolean> {
    if (scope === undefined) return (await this.sweep.hosts(scan)) && (await this.probeAll(scan, scope, () => true));
    const state = { isSwept: false, hasFailed: false };
    const sweeping = this.sweep
      .network(scan, scope, () => this.scans.isStopping || state.hasFailed)
      .finally(() => {
        state.isSwept = true;
      });
    const probing = this.probeAll(scan, scope, () => state.isSwept).catch((error: unknown) => {
      state.hasFailed = true;
      throw error;
    });
    await Promise.allSettled([sweeping, probing]);
    return (await Promise.all([sweeping, probing])).every(Boolean);
  }

  /** Returns true when the sweep is complete and no open port is left to probe. */
  private async probeAll(scan: Scan, scope: ScanScope | undefined, isSwept: () => boolean): Promise<boolean> {
    const lease = this.keepLease(scan);
    const isOver = () => !lease.isOurs() || this.scans.isStopping;
    try {
      for (let deadline = Date.now() + MAX_WAIT_MS; ;) {
        const isLast = isSwept(); // read before the query, so that the query returns everything that a completed sweep found
        const rows = await this.repository.pending(scan, MAX_PENDING);
        if (rows.length === 0 && isLast) return lease.isOurs();
        let recorded = 0;
        const queue = [...rows];
        const work = async (): Promise<void> => {
          for (let row = queue.shift(); row !== undefined && !isOver(); row = queue.shift())
            if (await this.probe(row, scope, recorded === 0 && Date.now() > deadline)) recorded += 1;
        };
        await Promise.all(Array.from({ length: scope === undefined ? MAX_LOGINS : MAX_PROBES }, work));
        if (isOver()) return false;
        if (recorded > 0 || rows.length === 0) deadline = Date.now() + MAX_WAIT_MS;
        if (recorded === 0) await sleep(IDLE_MS);
      }
    } finally {
      await lease.end();
    }
  }

  /** Probes one open port, records the result and hands over the findings. Returns false while another scan probes the same host, unless `isOverdue`. */
  private async probe(row: ScanResult, scope: ScanScope | undefined, isOverdue: boolean): Promise<boolean> {
    const result = await this.prober.probe(row, scope);
    if (result === undefined && !isOverdue) return false;
    return this.repository.recordAndHandOver(row, result ?? { outcome: 'THROTTLED' });
  }

  /** Renews the lease of a scan until `end` is called. */
  private keepLease(scan: Scan): { isOurs: () => boolean; end: () => Promise<void> } {
    let isOurs = true;
    let last = Promise.resolve();
    const renew = async (): Promise<void> => {
      isOurs = await this.repository.checkpoint(scan, 0, []);
    };
    const timer = setInterval(() => {
      last = last.then(renew).catch((error: unknown) => this.logger.warn(`could not renew a lease: ${String(error)}`));
    }, LEASE_RENEWAL_MS);
    return {
      isOurs: () => isOurs,
      end: async () => {
        clearInterval(timer);
        await last;
        await renew();
      },
    };
  }
}
