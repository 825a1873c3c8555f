import { readdirSync } from 'node:fs';
import { grepEvidence } from './evidence-grep.mjs';

/** Format in which Node.js writes warnings to standard error, once per process. */
const WARNING = '^\\(node:[0-9]+\\).* DeprecationWarning: .*';

/**
 * findDeprecations returns the distinct deprecation warnings in the logs of the processes.
 * @param {string} directory directory in which tests store logs of their processes, as `log-PID`
 * @returns {{ logs: number, found: string[] }}
 */
export function findDeprecations(directory) {
  const logs = readdirSync(directory).filter((name) => name.startsWith('log-'));
  if (logs.length === 0) return { logs: 0, found: [] };
  const lines = grepEvidence(directory, ['-ahoE', WARNING, '--', ...logs]);
  return { logs: logs.length, found: [...new Set(lines.map((line) => line.replace(/^\(node:\d+\) /, '')))] };
}
