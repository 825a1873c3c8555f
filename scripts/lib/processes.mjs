import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether the system knows a process of this id, be it a zombie. */
export function isKnown(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Whether a process runs. A zombie does not: in a container without an init nobody may ever collect it. */
export function isAlive(pid) {
  if (!isKnown(pid)) return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
  } catch {
    return !existsSync('/proc/self/stat');
  }
}

/** The command line of a process, or '' when there is none. Tells a process of ours from a stranger that got its id. */
export function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    if (existsSync('/proc/self/stat')) return '';
    return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ?? '';
  }
}

/** Ids of the processes whose working directory is `directory` (Linux only, elsewhere none). */
export function processesIn(directory) {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === directory && isAlive(pid);
      } catch {
        return false;
      }
    });
}

/** Waits until `done()` is true; answers whether it became so within `milliseconds`. */
export async function until(done, milliseconds, every = 20) {
  const end = Date.now() + milliseconds;
  for (;;) {
    if (await done()) return true;
    if (Date.now() >= end) return false;
    await sleep(every);
  }
}

export function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * Asks a process to end with each signal in turn and goes on to the next when it has not ended in time; SIGKILL comes last.
 * SIGCONT goes with each, since a frozen process acts on no other signal.
 * @param {number} pid
 * @param {[NodeJS.Signals, number][]} steps signal and patience in milliseconds
 */
export async function stopProcess(pid, steps) {
  for (const [name, patience] of [...steps, ['SIGKILL', 5000]]) {
    if (!isAlive(pid)) return;
    signal(pid, name);
    signal(pid, 'SIGCONT');
    if (await until(() => !isAlive(pid), patience)) return;
  }
}

/** Calls back once when the npm that runs this script is gone: killed hard, it has told nobody to stop. */
export function onOrphaned(callback) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, 500);
  timer.unref();
}
