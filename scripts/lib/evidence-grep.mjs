import { spawnSync } from 'node:child_process';

/** grepEvidence returns the distinct lines that grep finds in the files stored by the tests below `directory`. */
export function grepEvidence(directory, args) {
  const options = { cwd: directory, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' }, maxBuffer: 1 << 28 };
  const { status, stdout, stderr } = spawnSync('grep', args, options);
  if (status !== 0 && status !== 1) throw new Error(`grep failed (${status}): ${stderr}`);
  return [...new Set(stdout.split('\n').filter((line) => line !== ''))];
}
