import { spawnSync } from 'node:child_process';

/** Reports whether a program that tests use for verification is installed. `npm test` installs such programs, or lists what remains untested. */
export function has(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;
}
