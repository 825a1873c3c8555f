import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

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
  const options = { cwd: directory, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' }, maxBuffer: 1 << 28 };
  const { status, stdout, stderr } = spawnSync('grep', ['-ahoE', WARNING, '--', ...logs], options);
  if (status !== 0 && status !== 1) throw new Error(`grep failed (${status}): ${stderr}`);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { logs: logs.length, found: [...new Set(lines.map((line) => line.replace(/^\(node:\d+\) /, '')))] };
}
