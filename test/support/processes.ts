import { execFileSync, spawnSync } from 'node:child_process';
import type { Service } from './service.js';

/** Returns the IDs of a service's key processes, which are the service's only children. */
export function keyProcessesOf(service: Service): number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, state]) => Number(parent) === service.pid && !state?.startsWith('Z'))
    .map(([pid]) => Number(pid));
}

/** Reports whether a process is running. Returns false for a zombie. */
export function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}

/** Kills the key process with SIGKILL. Returns false if there was no key process. */
export function killKeyProcess(service: Service): boolean {
  const [pid] = keyProcessesOf(service);
  if (pid === undefined) return false;
  process.kill(pid, 'SIGKILL');
  return true;
}
