import { readdirSync, readFileSync } from 'node:fs';
import type { Service } from '../../test/support/service.js';

const TICKS_PER_SECOND = 100;

/** CPU time (user and system) of each part of the product, read from /proc; empty on systems without /proc. */
export class CpuMeter {
  private readonly taken = new Map<string, number>();

  private constructor(private readonly parts: Map<string, () => number>) {}

  static async of(service: Service, key: string): Promise<CpuMeter> {
    const health = await service.call('GET', '/actuator/health', { key });
    const keyProcess = Number(health.body.components.hsm.details.pid);
    return new CpuMeter(
      new Map([
        ['api', () => ticksOf(service.pid)],
        ['key process', () => ticksOf(keyProcess)],
        ['PostgreSQL', () => ticksOfAll(/postgres/)],
        ['Redis', () => ticksOfAll(/redis-server/)],
        ['client', () => (process.cpuUsage().user + process.cpuUsage().system) / (1e6 / TICKS_PER_SECOND)],
      ]),
    );
  }

  /** Adds the CPU time that each part uses while `work` runs. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = new Map([...this.parts].map(([name, read]) => [name, read()]));
    const result = await work();
    for (const [name, read] of this.parts)
      this.taken.set(name, (this.taken.get(name) ?? 0) + read() - (before.get(name) ?? 0));
    return result;
  }

  /** Returns the CPU time per request in microseconds, by part. */
  perRequest(requests: number): string {
    const costs = [...this.taken].map(
      ([name, ticks]) => `${name} ${Math.round((ticks * 1e6) / TICKS_PER_SECOND / Math.max(1, requests))} µs`,
    );
    return `CPU per request: ${costs.join(', ')}`;
  }
}

/** Returns the CPU time in milliseconds that a process has used since it started, or 0 without /proc. */
export function cpuMsOf(pid: number): number {
  return (ticksOf(pid) * 1000) / TICKS_PER_SECOND;
}

function ticksOf(pid: number): number {
  try {
    const [user = '0', system = '0'] =
      readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? [];
    return Number(user) + Number(system);
  } catch {
    return 0;
  }
}

function ticksOfAll(name: RegExp): number {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && name.test(commandOf(entry)))
    .reduce((sum, pid) => sum + ticksOf(Number(pid)), 0);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8');
  } catch {
    return '';
  }
}
