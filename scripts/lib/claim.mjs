import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writePrivate } from './private-files.mjs';
import { commandOf, isAlive, stopProcess, until } from './processes.mjs';

/**
 * One start per data directory. The claim is a file with the process id; one whose process is gone, or is another program by
 * now, does not count.
 */
export class Claim {
  #file;

  constructor(directory) {
    this.#file = path.join(directory, 'start.json');
  }

  /**
   * Takes the claim. A script that goes on under another Node takes it over from its parent.
   * @returns {{ pid: number, url?: string, stopping?: boolean } | undefined} who has it, when someone else does
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
   * Takes the claim, and waits for one who has it and is stopping; also for one who will notice in a moment that the npm that
   * started it is gone.
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

  /** Lets a second start know where this one answers, or that it is stopping. */
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

/** Ends the service that an earlier start of this directory left behind, if it still runs. */
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
