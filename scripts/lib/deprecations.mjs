import { readdirSync } from 'node:fs';
import { grepEvidence } from './evidence-grep.mjs';

/** As Node.js writes it to standard error, once in a process. */
const WARNING = '^\\(node:[0-9]+\\).* DeprecationWarning: .*';

/**
 * Calls that Node.js or a package will remove, by what the processes of a run said of them; each once.
 * @param {string} directory where tests note the logs of their processes, as `log-PID`
 * @returns {{ logs: number, found: string[] }}
 */
export function findDeprecations(directory) {
  const logs = readdirSync(directory).filter((name) => name.startsWith('log-'));
  if (logs.length === 0) return { logs: 0, found: [] };
  const lines = grepEvidence(directory, ['-ahoE', WARNING, '--', ...logs]);
  return { logs: logs.length, found: [...new Set(lines.map((line) => line.replace(/^\(node:\d+\) /, '')))] };
}
