import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { WorkPool } from '../../platform/jobs/work-pool.js';
import { ScanScope } from '../scopes/scan-scope.entity.js';
import { ScanRepository } from './scan.repository.js';
import { TargetProber } from './target-prober.js';
import type { ScanResult } from '../model/scan-result.entity.js';
import { ScanSweep } from './scan-sweep.js';
import type { Scan } from '../model/scan.entity.js';

/** Each opens as many connections as its walk is wide. */
const MAX_SCANS = 4;
const PROBES = 24;
/** Logins at once: each is a few seconds of work for its host. */
const LOGINS = 8;
const LEASE_MS = 5000;
const MAX_PENDING = 500;
/** So long nobody was asked because other scans were at it: then the host counts as throttled. */
const PATIENCE_MS = 15_000;
const IDLE_MS = 250;
/** A scan that takes down every worker that touches it has to end. */
const MAX_ATTEMPTS = 20;

/** Runs scans: who answers, and what they are. Everything that matters is in the rows, so any worker can go on. */
@Injectable()
export class ScanRunner {
  private readonly logger = new Logger(ScanRunner.name);
  private readonly scans = new WorkPool<Scan>({
    most: MAX_SCANS,
    claim: (room) => this.repository.claim(room),
    run: (scan) => this.run(scan),
    // The lease ends, and another attempt goes on from the cursor.
    failed: (error, scan) =>
      this.logger.warn(`${scan === undefined ? 'scans wait' : `scan ${scan.id} stopped`}: ${String(error)}`),
  });

  constructor(
    private readonly db: DataSource,
    private readonly repository: ScanRepository,
    private readonly sweep: ScanSweep,
    private readonly prober: TargetProber,
  ) {}

  /** Takes on what is due, as much as one process may have in hand. */
  fill(): Promise<void> {
    return this.scans.fill();
  }

  /** Puts down what runs where it is. */
  stop(): Promise<void> {
    return this.scans.stop();
  }

  private async run(scan: Scan): Promise<void> {
    if (scan.attempt > MAX_ATTEMPTS) {
      await this.repository.finish(scan, 'FAILED');
      return;
    }
    const isOver = scan.kind === 'ssh-deep' ? await this.onHosts(scan) : await this.onNetwork(scan);
    if (this.scans.isStopping) await this.repository.release(scan);
    else if (isOver) await this.repository.finish(scan, 'DONE');
  }

  private async onHosts(scan: Scan): Promise<boolean> {
    return (await this.sweep.hosts(scan)) && (await this.askAll(scan, undefined, () => true));
  }

  /** Whoever was found is asked while the walk goes on, which waits most of its time. */
  private async onNetwork(scan: Scan): Promise<boolean> {
    const scope = await this.db.manager.findOneBy(ScanScope, { id: scan.scopeId ?? undefined });
    if (scope === null) return false; // removed, and its scans were cancelled with it
    const walk = { isOver: false, failed: false };
    const fail = (error: unknown): never => {
      walk.failed = true;
      throw error;
    };
    const sweeping = this.sweep
      .network(scan, scope, () => this.scans.isStopping || walk.failed)
      .finally(() => {
        walk.isOver = true;
      });
    const halves = [sweeping, this.askAll(scan, scope, () => walk.isOver)].map((half) => half.catch(fail));
    const ends = await Promise.allSettled(halves);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return ends.every((end) => end.status === 'fulfilled' && end.value);
  }

  /** True when nobody is left to be asked, and nobody will be found any more. */
  private async askAll(scan: Scan, scope: ScanScope | undefined, isSwept: () => boolean): Promise<boolean> {
    const now = { ours: true };
    const lease = this.every(LEASE_MS, async () => {
      now.ours = await this.repository.checkpoint(scan, 0, []);
    });
    try {
      for (let patience = Date.now() + PATIENCE_MS; ;) {
        const isLast = isSwept(); // before the rows are read: what the walk found is among them then
        const rows = await this.repository.pending(scan, MAX_PENDING);
        if (rows.length === 0 && isLast) return now.ours;
        let settled = 0;
        const queue = [...rows];
        const work = async (): Promise<void> => {
          for (let row = queue.shift(); row !== undefined && now.ours && !this.scans.isStopping; row = queue.shift())
            if (await this.ask(row, scope, settled === 0 && Date.now() > patience)) settled += 1;
        };
        await Promise.all(Array.from({ length: scope === undefined ? LOGINS : PROBES }, work));
        if (!now.ours || this.scans.isStopping) return false;
        if (settled > 0 || rows.length === 0) patience = Date.now() + PATIENCE_MS;
        if (settled === 0) await sleep(IDLE_MS);
      }
    } finally {
      await lease.end();
    }
  }

  /** False when another scan is asking the same host at this moment; with `last`, that is the result. */
  private async ask(row: ScanResult, scope: ScanScope | undefined, last: boolean): Promise<boolean> {
    const result = await this.prober.probe(row, scope);
    if (result === undefined && !last) return false;
    return this.repository.settle(row, result ?? { outcome: 'THROTTLED' });
  }

  private every(ms: number, work: () => Promise<void>): { end: () => Promise<void> } {
    let last = Promise.resolve();
    const timer = setInterval(() => {
      last = last.then(work).catch((error: unknown) => this.logger.warn(`a checkpoint failed: ${String(error)}`));
    }, ms);
    return {
      end: async () => {
        clearInterval(timer);
        await last;
        await work();
      },
    };
  }
}
