import { Injectable } from '@nestjs/common';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, In } from 'typeorm';
import { Host } from '../../hosts/model/host.entity.js';
import type { OpenPort } from '../scan-result.entity.js';
import type { Scan, ScanScope } from '../scan.entity.js';
import { isOwnFault } from '../probing/bounded-stream.js';
import { ScopeGuard } from '../scopes/scope-guard.js';
import { OrderedWalk } from '../probing/ordered-walk.js';
import { TargetWalk } from '../probing/target-walk.js';
import { ProbeBudget } from './probe-budget.js';
import { ScanRepository } from './scan.repository.js';

/** Maximum number of concurrent connection attempts, and therefore of attempts repeated after a crash. */
const MAX_CONNECTIONS = 600;
const CONNECT_TIMEOUT_MS = 1500;
const CHECKPOINT_MS = 25;
const LEASE_RENEWAL_MS = 5000;

/** ScanSweep finds open ports and records them together with its progress. */
@Injectable()
export class ScanSweep {
  constructor(
    private readonly db: DataSource,
    private readonly repository: ScanRepository,
    private readonly guard: ScopeGuard,
    private readonly budget: ProbeBudget,
  ) {}

  /** Records the hosts of a deep scan, which needs no port sweep. Returns false if this attempt no longer owns the scan. */
  async hosts(scan: Scan): Promise<boolean> {
    if (scan.cursor >= scan.total) return true;
    const hosts = await this.db.manager.find(Host, {
      where: { id: In(scan.targets) },
      select: { id: true, port: true },
    });
    const openPorts = hosts.map(({ id, port }): OpenPort => ({ target: id, address: null, port }));
    return this.repository.checkpoint(scan, scan.total, openPorts);
  }

  /** Connects to every target and port. Returns true when the sweep is complete. */
  async network(scan: Scan, scope: ScanScope, isStopping: () => boolean): Promise<boolean> {
    const targets = new TargetWalk(scan.targets, scan.ports, scan.id);
    const walk = new OrderedWalk({ first: scan.cursor, total: targets.total, maxAhead: MAX_CONNECTIONS });
    const probedLately = scan.kind === 'ssh-network' ? await this.budget.probedLately() : new Set<string>();
    const openPorts: OpenPort[] = [];
    const visit = async (position: number): Promise<void> => {
      const { target, port } = targets.at(position);
      for (const address of await this.guard.allowed(scope, target, port)) {
        // A recently probed server is known to be open. Another connection would only increase sshd's penalties for the service's address.
        if (!probedLately.has(`${address} ${port}`) && !(await isOpen(address, port))) continue;
        openPorts.push({ target, address, port });
        return;
      }
    };
    const now = { isOurs: true, hasEnded: false };
    const checkpoint = async (): Promise<void> => {
      const cursor = walk.low;
      now.isOurs = await this.repository.checkpoint(scan, cursor, openPorts.splice(0));
      walk.keep(cursor);
    };
    const checkpoints = async (): Promise<void> => {
      for (let last = 0; !now.hasEnded && now.isOurs && !isStopping(); await sleep(CHECKPOINT_MS)) {
        if (walk.isAllKept && performance.now() - last < LEASE_RENEWAL_MS) continue;
        last = performance.now();
        await checkpoint();
      }
    };
    const walking = walk.run(visit).finally(() => {
      now.hasEnded = true;
    });
    await Promise.all([walking, checkpoints().finally(() => walk.stop())]);
    await checkpoint();
    return now.isOurs && walk.isOver;
  }
}

/** Reports whether the port accepts a TCP connection, and closes the connection immediately. Throws if this machine lacks the resources to connect. */
function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const end = (answer: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => end(false), CONNECT_TIMEOUT_MS);
    socket.once('connect', () => end(true));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (isOwnFault(error)) reject(error);
      end(false);
    });
  });
}
