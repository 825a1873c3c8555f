import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, In } from 'typeorm';
import { Host } from '../../hosts/model/host.entity.js';
import type { ScanScope } from '../scopes/scan-scope.entity.js';
import { ScopeGuard } from '../scopes/scope-guard.js';
import { tcpConnectProbe } from '../walk/tcp-connect-probe.js';
import { OrderedWalk } from '../walk/ordered-walk.js';
import { TargetWalk } from '../walk/target-walk.js';
import { ProbeBudget } from './probe-budget.js';
import { ScanRepository } from './scan.repository.js';
import type { OpenPort } from '../model/probe-result.js';
import type { Scan } from '../model/scan.entity.js';

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
    private readonly repository: ScanRepository,
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
    const doors = hosts.map(({ id, port }): OpenPort => ({ target: id, address: null, port }));
    return this.repository.checkpoint(scan, scan.total, doors);
  }

  /** True when the walk is at its end. */
  async network(scan: Scan, scope: ScanScope, isStopping: () => boolean): Promise<boolean> {
    const targets = new TargetWalk(scan.targets, scan.ports, scan.id);
    const walk = new OrderedWalk({ first: scan.cursor, total: targets.total, most: WIDTH });
    const alone = scan.kind === 'ssh-network' ? await this.budget.closed() : new Set<string>();
    const doors: OpenPort[] = [];
    const visit = async (position: number): Promise<void> => {
      const { target, port } = targets.at(position);
      for (const address of await this.guard.allowed(scope, target, port)) {
        // A visit that is not due would only cost the host a connection: what is known of it is enough.
        if (!alone.has(`${address} ${port}`) && (await tcpConnectProbe(address, port, SWEEP_MS)) !== 'open') continue;
        doors.push({ target, address, port });
        return;
      }
    };
    const now = { ours: true, ended: false };
    const keep = async (): Promise<void> => {
      const at = walk.low;
      now.ours = await this.repository.checkpoint(scan, at, doors.splice(0));
      walk.keep(at);
    };
    const keeping = async (): Promise<void> => {
      for (let last = 0; !now.ended && now.ours && !isStopping(); await sleep(CHECKPOINT_MS)) {
        if (walk.isAllKept && performance.now() - last < LEASE_MS) continue;
        last = performance.now();
        await keep();
      }
    };
    const walking = walk.run(visit).finally(() => {
      now.ended = true;
    });
    await Promise.all([walking, keeping().finally(() => walk.stop())]);
    await keep();
    return now.ours && walk.isOver;
  }
}
