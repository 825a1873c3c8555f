import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { packagedNode } from './packages.mjs';
import { onOrphaned } from './processes.mjs';
import { toolEnvironment } from './project.mjs';

/** The least version that runs the service. */
const MIN_VERSION = [24, 21, 0];
const INSTALL = `Install Node.js ${MIN_VERSION.join('.')} or later (https://nodejs.org) and run this again.`;

export const isNewEnough = (version) => {
  const [major, minor] = version.split('.').map(Number);
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
};

/** The scripts themselves need this much, to get as far as the packages. */
export function refuseOldNode() {
  if (Number(process.versions.node.split('.')[0]) >= 20) return;
  throw new Failure(`Node.js ${process.versions.node} is too old`, INSTALL);
}

/** The Node that npm installed with the packages. */
export function node24() {
  if (isNewEnough(process.versions.node)) return process.execPath;
  const program = path.join(packagedNode(), 'bin/node');
  const version = spawnSync(program, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim() ?? '';
  if (isNewEnough(version || '0.0')) return program;
  throw new Failure(`The service needs Node.js ${MIN_VERSION.join('.')}; this is ${process.versions.node}`, INSTALL);
}

/**
 * Goes on under Node 24: when this process is older, the same script runs again under the packaged Node, and this process only
 * waits for it. Answers at once when this process is new enough; otherwise never.
 */
export async function continueUnderNode24() {
  if (isNewEnough(process.versions.node)) return;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name);
  const child = spawn(node24(), process.argv.slice(1), { stdio: 'inherit', env: toolEnvironment() });
  // Ctrl-C reaches the child by itself: it is in the same process group. The rest is passed on.
  process.on('SIGINT', () => {});
  for (const name of ['SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name));
  onOrphaned(() => child.kill('SIGTERM'));
  const code = await new Promise((resolve) => {
    child.on('error', () => resolve(1));
    child.on('exit', (status, name) => resolve(status ?? 128 + constants.signals[name]));
  });
  process.exit(code);
}
