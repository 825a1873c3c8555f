import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ClientError, EXIT } from '../api/exit-codes.js';
import { readJson } from '../../platform/json/strict-json.js';

/** Reported describes a reported target: its sources, and the number of parts into which the target is split. */
export interface Reported {
  readonly parts: number;
  readonly sources: readonly string[];
}

/** SpooledScan is a complete scan in the spool. Its numbered batches are stored in the same directory. */
export interface SpooledScan {
  readonly id: string;
  /** ID of the command that requested the scan, if any. */
  readonly command?: string;
  readonly ok: boolean;
  readonly assets: number;
  readonly detail: string;
  /** Reported targets by name. The reported targets become the stored state after all batches are delivered. */
  readonly reported: Readonly<Record<string, Reported>>;
}

const PRIVATE = { mode: 0o600, flush: true } as const;
const BATCH = /^\d{6}\.json$/;

/**
 * Spool stores findings on disk until they are delivered. A scan is written to a separate directory and activated with one rename, so a killed sensor leaves
 * either a complete scan or none. A batch is deleted once the service has accepted it. Until then, the batch is sent again with the same idempotency key, and
 * the service accepts it only once.
 */
export class Spool {
  private constructor(
    private readonly directory: string,
    private readonly lock: FileHandle,
  ) {}

  /** @throws ClientError if another sensor uses the directory */
  static async open(directory: string): Promise<Spool> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const lock = await locked(join(directory, 'lock'));
    await rm(join(directory, 'building'), { recursive: true, force: true });
    return new Spool(directory, lock);
  }

  async close(): Promise<void> {
    await this.lock.close();
    await rm(join(this.directory, 'lock'), { force: true });
  }

  async state(): Promise<Record<string, Reported>> {
    const text = await readFile(join(this.directory, 'state.json'), 'utf8').catch(() => '{}');
    return readJson(text) as Record<string, Reported>;
  }

  /** Creates a directory for a new scan, and deletes an unfinished scan. */
  async begin(): Promise<{ readonly id: string; readonly directory: string }> {
    const directory = join(this.directory, 'building');
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { mode: 0o700 });
    return { id: randomUUID(), directory };
  }

  async addBatch(number: number, body: string): Promise<void> {
    await writeFile(join(this.directory, 'building', `${String(number).padStart(6, '0')}.json`), body, PRIVATE);
  }

  /** Makes the scan ready for delivery. */
  async commit(scan: SpooledScan): Promise<void> {
    const building = join(this.directory, 'building');
    for (const name of await readdir(building)) if (!BATCH.test(name)) await rm(join(building, name));
    await writeFile(join(building, 'scan.json'), JSON.stringify(scan), PRIVATE);
    await synced(building);
    await rename(building, join(this.directory, 'scan'));
    await synced(this.directory);
  }

  /** Returns the undelivered scan, if any. */
  async waiting(): Promise<SpooledScan | undefined> {
    const text = await readFile(join(this.directory, 'scan', 'scan.json'), 'utf8').catch(() => undefined);
    return text === undefined ? undefined : (readJson(text) as SpooledScan);
  }

  /** Returns the names of the undelivered batches, in order. */
  async batches(): Promise<string[]> {
    return (await readdir(join(this.directory, 'scan'))).filter((name) => BATCH.test(name)).sort();
  }

  read(batch: string): Promise<string> {
    return readFile(join(this.directory, 'scan', batch), 'utf8');
  }

  async delivered(batch: string): Promise<void> {
    await unlink(join(this.directory, 'scan', batch));
  }

  /** Moves a batch that the service will never accept to another directory, for inspection. Returns the new path. */
  async refused(scan: SpooledScan, batch: string, why: string): Promise<string> {
    const directory = join(this.directory, 'refused');
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const kept = join(directory, `${scan.id}-${batch}`);
    await writeFile(`${kept}.txt`, `${why}\n`, PRIVATE);
    await rename(join(this.directory, 'scan', batch), kept);
    return kept;
  }

  /** Removes a scan after all batches are delivered and the result is reported. */
  async finish({ reported }: SpooledScan): Promise<void> {
    const state = { ...(await this.state()), ...reported };
    const fresh = join(this.directory, 'state.json.new');
    await writeFile(fresh, JSON.stringify(state), PRIVATE);
    await rename(fresh, join(this.directory, 'state.json'));
    await rm(join(this.directory, 'scan'), { recursive: true });
  }
}

async function synced(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Acquires the lock. The lock file contains the process ID of its owner. The lock of a dead process is ignored. */
async function locked(file: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const handle = await open(file, 'wx', 0o600);
      await handle.writeFile(String(process.pid));
      return handle;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt === 3) throw error;
    }
    const owner = Number(await readFile(file, 'utf8').catch(() => ''));
    if (owner > 0 && owner !== process.pid && isAlive(owner))
      throw new ClientError(
        EXIT.failed,
        `Another sensor (process ${owner}) is using this spool. Specify another spool with --spool.`,
      );
    await rm(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
