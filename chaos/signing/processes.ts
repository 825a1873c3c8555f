import { readdirSync, readFileSync } from 'node:fs';

/** Process ids of the children of a process, from /proc. */
export function childrenOf(parent: number): number[] {
  return allPids().filter((pid) => parentOf(pid) === parent);
}

export function allPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Undefined if the process has ended. */
export function procFile(pid: number, name: 'cmdline' | 'environ' | 'stat'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** False if it has ended. */
export function signal(pid: number | undefined, name: NodeJS.Signals): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function parentOf(pid: number): number | undefined {
  // The name of the program is in parentheses and may hold anything; state and parent follow the last one.
  const stat = procFile(pid, 'stat');
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}
