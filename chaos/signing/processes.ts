import { readdirSync, readFileSync } from 'node:fs';

/** Returns the process IDs of the children of a process, from /proc. */
export function childrenOf(parent: number): number[] {
  return allPids().filter((pid) => parentOf(pid) === parent);
}

export function allPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Returns the content of a file in /proc, or undefined if the process has ended. */
export function procFile(pid: number, name: 'cmdline' | 'environ' | 'stat'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** Sends a signal. Returns false if the process has ended. */
export function signal(pid: number | undefined, name: NodeJS.Signals): boolean {
  if (pid === undefined) return false;
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function parentOf(pid: number): number | undefined {
  // The program name is in parentheses and may contain any character; state and parent follow the last closing parenthesis.
  const stat = procFile(pid, 'stat');
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}
