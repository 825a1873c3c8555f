import { execFileSync, spawnSync } from 'node:child_process';
import type { Service } from './service.js';

/** Process ids of the key processes of a service: its only children. */
export function keyProcessesOf(service: Service): number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, state]) => Number(parent) === service.pid && !state?.startsWith('Z'))
    .map(([pid]) => Number(pid));
}

/** False for a process that has ended, also for a zombie. */
export function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z');
}

/** kill -9; false if there was no key process. */
export function killKeyProcess(service: Service): boolean {
  const [pid] = keyProcessesOf(service);
  if (pid === undefined) return false;
  process.kill(pid, 'SIGKILL');
  return true;
}
