import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, In } from 'typeorm';
import { Host } from '../../hosts/records/host.entity.js';
import type { ScanScope } from '../scopes/scan-scope.entity.js';
import { ScopeGuard } from '../scopes/scope-guard.js';
import { inOrder, knock } from '../walk/sweep.js';
import { TargetWalk } from '../walk/target-walk.js';
import { ProbeBudget } from './probe-budget.js';
import { type Door, ScanLedger } from './scan-ledger.js';
import type { Scan } from './scan.entity.js';

/** Connections of the sweep that wait at once, and with it the most that a crash makes to be done again. */
const WIDTH = 600;
const SWEEP_MS = 1500;
const CHECKPOINT_MS = 25;
const LEASE_MS = 5000;

/** The first half of a scan: who answers. What it finds is in the rows, with how far it came. */
@Injectable()
export class ScanSweep {
  constructor(
    private readonly db: DataSource,
    private readonly ledger: ScanLedger,
    private readonly guard: ScopeGuard,
    private readonly budget: ProbeBudget,
  ) {}

  /** Hosts that are known need no search. False when the scan is not ours any more. */
  async hosts(scan: Scan): Promise<boolean> {
    if (scan.cursor >= scan.total) return true;
    const hosts = await this.db.manager.find(Host, {
      where: { id: In(scan.targets) },
      select: { id: true, port: true },
    });
    const doors = hosts.map(({ id, port }): Door => ({ target: id, address: null, port }));
    return this.ledger.checkpoint(scan, scan.total, doors);
  }

  /** True when the walk is at its end. */
  async network(scan: Scan, scope: ScanScope, isStopping: () => boolean): Promise<boolean> {
    const walk = new TargetWalk(scan.targets, scan.ports, scan.id);
    const alone = scan.kind === 'ssh-network' ? await this.budget.closed() : new Set<string>();
    let doors: Door[] = [];
    let [low, kept] = [scan.cursor, scan.cursor];
    const now = { ours: true, ended: false };
    const visit = async (position: number): Promise<void> => {
      const { target, port } = walk.at(position);
      for (const address of await this.guard.allowed(scope, target, port)) {
        // A visit that is not due would only cost the host a connection: what is known of it is enough.
        if (!alone.has(`${address} ${port}`) && (await knock(address, port, SWEEP_MS)) !== 'open') continue;
        doors.push({ target, address, port });
        return;
      }
    };
    const below = (position: number) => {
      low = position;
    };
    const keep = async (): Promise<void> => {
      const [at, found] = [low, doors];
      doors = [];
      now.ours = await this.ledger.checkpoint(scan, at, found);
      kept = at;
    };
    const keeping = async (): Promise<void> => {
      for (let last = 0; !now.ended && now.ours; await sleep(CHECKPOINT_MS)) {
        if (low === kept && performance.now() - last < LEASE_MS) continue;
        last = performance.now();
        await keep();
      }
    };
    const stretch = {
      first: scan.cursor,
      total: walk.total,
      most: WIDTH,
      kept: () => kept,
      stopped: () => isStopping() || !now.ours,
    };
    const walking = inOrder(stretch, visit, below).finally(() => {
      now.ended = true;
    });
    await Promise.all([walking, keeping().finally(() => (now.ours &&= now.ended))]);
    await keep();
    return now.ours && low >= walk.total;
  }
}
