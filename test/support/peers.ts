import { spawnSync } from 'node:child_process';

/** Whether a program that tests check against is on this machine; `npm test` brings it, or names what stays unchecked. */
export function has(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;
}
