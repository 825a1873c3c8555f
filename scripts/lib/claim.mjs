import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writePrivate } from './private-files.mjs';
import { commandOf, isAlive, stopProcess, until } from './processes.mjs';

/**
 * Claim is a lock file that permits a single start per data directory. The file contains the process ID. A claim is stale if the process has ended or the ID
 * now belongs to another program.
 */
export class Claim {
  #file;

  constructor(directory) {
    this.#file = path.join(directory, 'start.json');
  }

  /**
   * Acquires the claim. A script that continues under another Node takes the claim over from its parent process.
   * @returns {{ pid: number, url?: string, stopping?: boolean } | undefined} the current holder, if it is another process
   */
  take() {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      try {
        writeFileSync(this.#file, JSON.stringify({ pid: process.pid }), { flag: 'wx', mode: 0o600 });
        return undefined;
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const holder = this.#read();
      if (holder !== undefined && holder.pid !== process.ppid && holder.pid !== process.pid) return holder;
      rmSync(this.#file, { force: true });
    }
    return this.#read();
  }

  /**
   * Acquires the claim. Waits if the holder is stopping, or if the npm process that started the holder has ended and the holder will therefore stop soon.
   */
  async takeInTime(onWait) {
    let holder = this.take();
    if (holder === undefined) return undefined;
    await until(() => (holder = this.take()) === undefined || holder.stopping, 1500, 100);
    if (holder?.stopping) {
      onWait();
      await until(() => (holder = this.take()) === undefined, 60_000, 100);
    }
    return holder;
  }

  /** Records the URL of this start, or the fact that this start is stopping, so that a second start can report the URL or the stop. */
  tell(facts) {
    writePrivate(this.#file, JSON.stringify({ pid: process.pid, ...facts }));
  }

  release() {
    if (this.#read()?.pid === process.pid) rmSync(this.#file, { force: true });
  }

  #read() {
    try {
      const claim = JSON.parse(readFileSync(this.#file, 'utf8'));
      return isAlive(claim.pid) && /\bstart\.mjs\b/.test(commandOf(claim.pid)) ? claim : undefined;
    } catch {
      return undefined;
    }
  }
}

/** stopLeftover stops the service left behind by an earlier start in this directory, if it is still running. */
export async function stopLeftover(pidFile, program) {
  let pid;
  try {
    pid = Number(readFileSync(pidFile, 'utf8'));
  } catch {
    return false;
  }
  const ours = pid > 0 && isAlive(pid) && commandOf(pid).includes(program);
  if (ours) await stopProcess(pid, [['SIGTERM', 15_000]]);
  rmSync(pidFile, { force: true });
  return ours;
}
