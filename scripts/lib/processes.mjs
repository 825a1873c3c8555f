import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** isKnown reports whether a process with this ID exists, including zombies. */
export function isKnown(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** isAlive reports whether a process is running. A zombie does not count as running, because in a container without an init process it may never be reaped. */
export function isAlive(pid) {
  if (!isKnown(pid)) return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
  } catch {
    return !existsSync('/proc/self/stat');
  }
}

/** commandOf returns the command line of a process, or '' if the process does not exist. Callers use the command line to detect a reused process ID. */
export function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    if (existsSync('/proc/self/stat')) return '';
    return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ?? '';
  }
}

/** processesIn returns the IDs of processes whose working directory is `directory` (Linux only; empty elsewhere). */
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

/** until waits until `done()` returns true, for at most `milliseconds`. Returns the last result. */
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
 * stopProcess sends each signal in turn and continues with the next signal if the process has not ended in time. SIGKILL comes last. SIGCONT accompanies each
 * signal, because a frozen process handles no other signal.
 * @param {number} pid
 * @param {[NodeJS.Signals, number][]} steps signal and time limit in milliseconds
 */
export async function stopProcess(pid, steps) {
  for (const [name, patience] of [...steps, ['SIGKILL', 5000]]) {
    if (!isAlive(pid)) return;
    signal(pid, name);
    signal(pid, 'SIGCONT');
    if (await until(() => !isAlive(pid), patience)) return;
  }
}

/**
 * onOrphaned calls `callback` once when the npm process that runs this script has ended. An npm process that is killed with SIGKILL cannot forward a signal.
 */
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
