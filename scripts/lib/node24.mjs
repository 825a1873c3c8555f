import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { packagedNode } from './packages.mjs';
import { onOrphaned } from './processes.mjs';
import { toolEnvironment } from './project.mjs';

/** Minimum version of Node.js for the service. */
const MIN_VERSION = [24, 21, 0];
const INSTALL = `Install Node.js ${MIN_VERSION.join('.')} or later (https://nodejs.org) and run this again.`;

export const isNewEnough = (version) => {
  const [major, minor] = version.split('.').map(Number);
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
};

/** refuseOldNode throws if the current Node is too old for the scripts that install the packages. These scripts require Node 20. */
export function refuseOldNode() {
  if (Number(process.versions.node.split('.')[0]) >= 20) return;
  throw new Failure(`Node.js ${process.versions.node} is too old`, INSTALL);
}

/** node24 returns the path of a Node that can run the service: the current Node, or the Node that npm installed with the packages. */
export function node24() {
  if (isNewEnough(process.versions.node)) return process.execPath;
  const program = path.join(packagedNode(), 'bin/node');
  const version = spawnSync(program, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim() ?? '';
  if (isNewEnough(version || '0.0')) return program;
  throw new Failure(
    `The service requires Node.js ${MIN_VERSION.join('.')}, but this is ${process.versions.node}`,
    INSTALL,
  );
}

/**
 * continueUnderNode24 returns immediately if the current Node is new enough. Otherwise, it runs the same script under the packaged Node, waits for the script
 * to end, and exits with its exit code.
 */
export async function continueUnderNode24() {
  if (isNewEnough(process.versions.node)) return;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name);
  const child = spawn(node24(), process.argv.slice(1), { stdio: 'inherit', env: toolEnvironment() });
  // Ctrl-C reaches the child directly, because the child is in the same process group. Other signals are forwarded.
  process.on('SIGINT', () => {});
  for (const name of ['SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name));
  onOrphaned(() => child.kill('SIGTERM'));
  const code = await new Promise((resolve) => {
    child.on('error', () => resolve(1));
    child.on('exit', (status, name) => resolve(status ?? 128 + constants.signals[name]));
  });
  process.exit(code);
}
