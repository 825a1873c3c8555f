import { mkdtempSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Service } from './service.js';
import { until } from './signing.js';

const PROBE = join(import.meta.dirname, '../fakes/event-loop-probe.mjs');

interface Delays {
  readonly round: number;
  /** Time for which the event loop was busy without interruption, in milliseconds of CPU time. */
  readonly p99: number;
  readonly max: number;
}

/** Watches the event loop of a service that was started with these `settings`. */
export function watchEventLoop(): {
  readonly settings: Record<string, string>;
  /** Returns the delays measured during the work. */
  during(service: Service, work: () => Promise<void>): Promise<Delays>;
} {
  const file = join(mkdtempSync(join(tmpdir(), 'event-loop-')), 'delays.json');
  const read = async (): Promise<Delays | undefined> => {
    // The file may not exist yet, or may be incomplete.
    try {
      return JSON.parse(await readFile(file, 'utf8')) as Delays;
    } catch {
      return undefined;
    }
  };
  return {
    settings: { NODE_OPTIONS: `--import ${PROBE}`, LOOP_FILE: file },
    during: async (service, work) => {
      const before = (await until('the probe of the event loop', 20, read)).round;
      process.kill(service.pid, 'SIGUSR2');
      await until('a new round', 20, async () => (await read())?.round === before + 1);
      await work();
      return until('the delays', 20, read);
    },
  };
}
