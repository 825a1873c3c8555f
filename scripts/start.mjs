import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { showBanner } from './lib/banner.mjs';
import { build } from './lib/build.mjs';
import { Claim } from './lib/claim.mjs';
import { Failure } from './lib/failure.mjs';
import { whoListens } from './lib/listeners.mjs';
import { continueUnderNode24, refuseOldNode } from './lib/node24.mjs';
import { installPackages, needsForPackages } from './lib/packages.mjs';
import { isFree, portFor } from './lib/ports.mjs';
import { ownDirectory, writePrivate } from './lib/private-files.mjs';
import { onOrphaned } from './lib/processes.mjs';
import { inRoot, readEnvFile, ROOT } from './lib/project.mjs';
import { run } from './lib/run.mjs';
import { Service } from './lib/service.mjs';
import { dim, haltSteps, say, showFailure, step, yellow } from './lib/steps.mjs';
import { needsForStores, startStores, stopStores, watchStores } from './lib/stores.mjs';
import { demand, install, NEEDS } from './lib/system-packages.mjs';
import { rebuildOnChange } from './lib/watch.mjs';

/** `npm start`: runs a service that signs, starting from a fresh clone. Later starts take a few seconds. All data is in .data. */
const DATA = inRoot('.data');
const DEMO = path.join(DATA, 'demo.env');
const BEGUN = Number(process.env.SEALWRIGHT_STARTED_AT ?? Date.now());

const settings = { ...readEnvFile(inRoot('.env')), ...process.env };
delete settings.SEALWRIGHT_STARTED_AT;
const claim = new Claim(DATA);
const service = new Service({ logFile: path.join(DATA, 'log/service.log'), pidFile: path.join(DATA, 'service.pid') });
/** Running servers in start order; they are stopped in reverse order. */
const running = [];
let interrupted = false;

async function main() {
  process.chdir(ROOT);
  refuseOldNode();
  ownDirectory(DATA);
  ownDirectory(path.join(DATA, 'log'));
  const other = await claim.takeInTime(() => say(dim('The previous service is still stopping …')));
  if (other !== undefined) return sayRunning(other);
  listenForSignals();
  const continued = process.env.SEALWRIGHT_STARTED_AT !== undefined;
  const leftover = await service.stopLeftover();
  if (leftover) say(dim('Stopped a service left over from an earlier start.'));
  const port = await servicePort();
  if (!continued) await bringPackages();
  process.env.SEALWRIGHT_STARTED_AT = String(BEGUN);
  await continueUnderNode24();
  delete process.env.SEALWRIGHT_STARTED_AT;
  await step('Build', () => build());
  const env = {
    ...settings,
    ...(await startStores(DATA, settings, (server) => running.push(server))),
    SVC_PORT: String(port),
    // The service's output goes to a file, so the output must not contain colors.
    NO_COLOR: '1',
    SVC_JWT_SECRET: jwtSecret(),
    ...openTimestamps(),
  };
  keepEnvironment(env);
  await step('Migrations', () => cli(env, 'migrate'));
  if (settings.SVC_PROFILE !== 'prod')
    await step('Demo data', () => cli(env, 'seed-demo', '--out', DEMO, '--timestamps', '--inventory'));
  await serve(env, port);
}

async function bringPackages() {
  const needs = [...needsForStores(settings), ...needsForPackages()];
  await step('System packages', async (note) => {
    // The two tools of the first example are optional.
    await install([...needs, NEEDS.openssl, NEEDS.curl], note);
    await demand(needs, note);
  });
  await step('npm packages', () => installPackages());
}

async function servicePort() {
  const port = Number(settings.SVC_PORT || 9090);
  if (port === 0) return portFor(path.join(DATA, 'port'));
  if (await isFree(port, listenAddress())) return port;
  const who = whoListens(port) ?? 'a process of another account';
  throw new Failure(
    `Port ${port} is in use by ${who}`,
    `Stop it, or choose another port: SVC_PORT=${port + 1} npm start`,
  );
}

/** Returns the address on which the service listens. Must match the logic in src/platform/config/config.ts. */
function listenAddress() {
  return settings.SVC_HOST || (settings.SVC_PROFILE === 'prod' ? '0.0.0.0' : '127.0.0.1');
}

function jwtSecret() {
  if (settings.SVC_JWT_SECRET) return settings.SVC_JWT_SECRET;
  const file = path.join(DATA, 'secrets.env');
  const kept = readEnvFile(file).SVC_JWT_SECRET;
  if (kept) return kept;
  const secret = randomBytes(48).toString('base64url');
  writePrivate(file, `SVC_JWT_SECRET=${secret}\n`);
  return secret;
}

/**
 * Returns settings that let this machine request timestamps without a credential, which many timestamp clients cannot send. Does not apply to the profile prod.
 */
function openTimestamps() {
  if (settings.SVC_PROFILE === 'prod' || settings.SVC_TSA_ALLOW !== undefined) return {};
  return { SVC_TSA_ALLOW: '127.0.0.0/8,::1' };
}

/** Stores the environment, so that `npm run cli` and `npm run worker` find the same stores. */
function keepEnvironment(env) {
  const names = Object.keys(env).filter((name) => name.startsWith('SVC_') || name === 'SOFTHSM2_CONF');
  writePrivate(path.join(DATA, 'service.env'), names.map((name) => `${name}=${env[name]}\n`).join(''));
}

async function cli(env, ...args) {
  const { code, output } = await run(process.execPath, [inRoot('dist/cli.js'), ...args], { env });
  if (code === 0) return;
  const advice = `See the error above. Only if the stores cannot be repaired: move ${DATA} away and start with empty stores.`;
  throw new Failure(`"${args[0]}" failed`, advice, output);
}

async function serve(env, port) {
  const own = ['0.0.0.0', '::'].includes(listenAddress()) ? '127.0.0.1' : listenAddress();
  const address = own.includes(':') ? `[${own}]` : own;
  const up = () =>
    step('Service', async () => {
      service.start(env);
      await service.becomesHealthy(`http://${address}:${port}`);
    });
  running.push(service);
  await up();
  const demo = existsSync(DEMO) ? readEnvFile(DEMO) : {};
  const url = demo.BASE_URL ?? `http://localhost:${port}`;
  claim.tell({ url });
  const { SVC_TSA_ALLOW: timestamps } = env;
  showBanner({ url, demo, begun: BEGUN, data: DATA, listening: listenAddress(), timestamps });
  service.onTrouble((line) => say(line));
  watchStores(running, (line) => say(yellow(line)));
  if (process.argv.includes('--watch')) rebuildOnChange(() => service.stop().then(up));
  const ended = await service.ended();
  if (interrupted) return;
  throw new Failure(
    `The service exited unexpectedly (${ended})`,
    `See the log: ${service.logFile}. To start again: npm start`,
  );
}

async function stopAll() {
  haltSteps();
  for (const server of [...running].reverse()) await server.stop();
  // Also stops any store that was not ready yet when the start was interrupted.
  await stopStores(DATA, settings);
  claim.release();
}

function listenForSignals() {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, onSignal);
  onOrphaned(onSignal);
}

function onSignal() {
  if (interrupted) {
    void killAll();
    return;
  }
  interrupted = true;
  claim.tell({ stopping: true });
  const served = service.running;
  say(`\nStopping${served ? '; finishing active requests first (press Ctrl-C again to kill it)' : ''} …`);
  void stopAll().then(() => {
    say('Stopped. To start again: npm start');
    process.exit(served ? 0 : 130);
  });
}

async function killAll() {
  await Promise.all(running.map((server) => server.kill()));
  claim.release();
  process.exit(137);
}

function sayRunning({ pid, url }) {
  say(
    url
      ? `Sealwright is already running: ${url} (process ${pid})`
      : `Sealwright is already being started by process ${pid}.`,
  );
  say('Stop it with Ctrl-C in its terminal, or run: kill ' + pid);
}

main().catch(async (error) => {
  if (interrupted) return;
  await stopAll();
  showFailure(error);
  process.exit(1);
});
