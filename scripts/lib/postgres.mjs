import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { totalmem } from 'node:os';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { isFree, portFor } from './ports.mjs';
import { forgottenHome, homeOf, packagedBinaries, serverAccount, setAside, settle } from './postgres-files.mjs';
import { secretIn } from './private-files.mjs';
import { commandOf, isAlive, isKnown, processesIn, signal, stopProcess, until } from './processes.mjs';

const DATABASE = 'sealwright';
const SIGNALS = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' };
const MB = 1024 * 1024;
const LOG_LIMIT = 10 * MB;

/** Time in milliseconds after which a message explains the delay. */
const SOON_MS = 10_000;
const SLOW_MS = 50_000;
const RECOVERY_MS = 600_000;

/** shared_buffers in MB: 1/16 of the memory within these limits, because the file cache and other programs also need memory. */
const SHARED_MB = Math.round(Math.min(1024, Math.max(128, totalmem() / MB / 16)));

/** Settings passed at every start, so that changes also apply to an existing data directory. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: `${SHARED_MB}MB`,
  max_wal_size: '2GB',
  // The buffer is large enough that the WAL writer can write the WAL. With a smaller buffer, sessions that import documents would write the WAL page by page.
  wal_buffers: '64MB',
  wal_writer_delay: '10ms',
  synchronous_commit: 'on',
  idle_in_transaction_session_timeout: '15s',
  password_encryption: 'scram-sha-256',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] %u@%d ',
};

/**
 * startPostgres starts a private PostgreSQL on 127.0.0.1 with its data in `dir`, or takes over a server that is still running there. The first start creates
 * the data directory, the administrator, and a database with its owner role. See postgres.d.mts for the result.
 */
export async function startPostgres({ dir, port, log = () => {}, settings = {}, environment = {} }) {
  const wanted = path.resolve(dir);
  const binaries = packagedBinaries();
  const forgotten = forgottenHome(wanted);
  if (forgotten !== undefined) {
    await stopIn(forgotten);
    setAside(forgotten, log);
  }
  const account = serverAccount(path.join(homeOf(wanted), 'data'));
  const { home, native } = settle(wanted, account, binaries, log);
  const store = {
    home,
    data: path.join(home, 'data'),
    logFile: path.join(home, 'postgres.log'),
    portFile: path.join(home, 'port'),
    program: (name) => path.join(native, 'bin', name),
    account,
  };
  const running = runningServer(store.data);
  const fits = running !== undefined && (port === undefined || port === running.port);
  if (fits && (await becomesReady(store.data, running.pid, log))) return handle(store, running, true);
  if (running !== undefined) await stopServer(running.pid);
  await initialise(store, binaries.version, log);
  return handle(store, await launch(store, port, { ...SETTINGS, ...settings }, environment, log), false);
}

/** stopPostgres stops the server whose data is in `dir`, if an earlier run left one behind. */
export async function stopPostgres(dir) {
  await stopIn(homeOf(path.resolve(dir)));
}

async function stopIn(home) {
  const running = runningServer(path.join(home, 'data'));
  if (running !== undefined) await stopServer(running.pid);
}

/** removePostgres stops the server and removes its data, even if the data was moved out of `dir`. */
export async function removePostgres(dir) {
  const wanted = path.resolve(dir);
  await stopPostgres(wanted);
  rmSync(homeOf(wanted), { recursive: true, force: true });
  rmSync(wanted, { recursive: true, force: true });
}

function handle({ home, logFile }, { pid, port }, reused) {
  const url = (role, database) => {
    const password = secretIn(path.join(home, `${role}.password`));
    return `postgresql://${role}:${password}@127.0.0.1:${port}/${database}`;
  };
  return {
    url: url(DATABASE, DATABASE),
    adminUrl: url('postgres', 'postgres'),
    port,
    pid,
    directory: home,
    logFile,
    reused,
    stop: () => stopServer(pid),
    kill: async (mode = 'immediate') => {
      signal(pid, SIGNALS[mode]);
      await until(() => !isAlive(pid), 15_000);
    },
  };
}

/** Stops the server with a fast shutdown, or with an immediate shutdown if the checkpoint takes too long. */
async function stopServer(pid) {
  await stopProcess(pid, [
    ['SIGINT', 20_000],
    ['SIGQUIT', 10_000],
  ]);
}

/** Returns the lines of postmaster.pid: pid, data directory, start time, port, socket directory, address, shared memory, state. */
function lockLines(data) {
  try {
    return readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}

/** Returns the server of this data directory, if the lock file names a running server. */
function runningServer(data) {
  const lines = lockLines(data);
  const pid = Number(lines[0]);
  if (!(pid > 0) || !isAlive(pid) || !commandOf(pid).includes(data)) return undefined;
  return { pid, port: Number(lines[3]) };
}

function run(store, program, args, options = {}) {
  const result = spawnSync(store.program(program), args, {
    ...store.account,
    cwd: store.home,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
    ...options,
  });
  if (result.status === 0) return;
  const why = result.error?.message ?? `${result.stdout}\n${result.stderr}`.trim();
  throw new Failure(
    `PostgreSQL's ${program} failed`,
    `The data directory is ${store.home}. Check that it has enough space.`,
    why,
  );
}

/** Creates the data directory once. A marker is written last, so that an interrupted initialization starts over. */
async function initialise(store, version, log) {
  const marker = path.join(store.home, 'initialised');
  if (existsSync(marker)) return refuseOtherVersion(store, version);
  log('creating the data directory');
  const { data } = store;
  rmSync(data, { recursive: true, force: true });
  const passwordFile = path.join(store.home, 'initdb.password');
  rmSync(passwordFile, { force: true });
  secretIn(passwordFile, () => secretIn(path.join(store.home, 'postgres.password')));
  if (store.account) chownSync(passwordFile, store.account.uid, store.account.gid);
  const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--data-checksums'];
  initdb(store, ['-D', data, ...access, '--no-instructions']);
  rmSync(passwordFile);
  // A single-user server reads SQL from standard input, which keeps passwords out of the arguments. Nobody can connect before the passwords are set.
  const password = secretIn(path.join(store.home, `${DATABASE}.password`));
  const sql = [
    `CREATE ROLE ${DATABASE} LOGIN PASSWORD '${password}';`,
    `CREATE DATABASE ${DATABASE} OWNER ${DATABASE};`,
  ];
  run(store, 'postgres', ['--single', '-D', data, '-c', 'exit_on_error=on', 'postgres'], {
    input: `${sql.join('\n')}\n`,
  });
  writeFileSync(marker, `${version}\n`);
}

/** Runs initdb with LC_CTYPE C.UTF-8 if available. pg_trgm uses the C library to recognize letters; without this locale, only ASCII letters have trigrams. */
function initdb(store, options) {
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  try {
    run(store, 'initdb', [...options, ...locale, '--lc-ctype=C.UTF-8']);
  } catch {
    rmSync(store.data, { recursive: true, force: true });
    run(store, 'initdb', [...options, ...locale]);
  }
}

function refuseOtherVersion(store, version) {
  const made = readFileSync(path.join(store.data, 'PG_VERSION'), 'utf8').trim();
  if (made === version.split('.')[0]) return;
  throw new Failure(
    `${store.home} was created by PostgreSQL ${made}, but this is ${version.split('.')[0]}`,
    'Move the directory away to start empty, or upgrade it with pg_upgrade.',
  );
}

async function launch(store, wantedPort, settings, environment, log) {
  await clearLeftovers(store.data);
  if (existsSync(store.logFile) && statSync(store.logFile).size > LOG_LIMIT) truncateSync(store.logFile);
  const end = Date.now() + 30_000;
  for (;;) {
    const port = await portFor(store.portFile, wantedPort);
    const from = existsSync(store.logFile) ? statSync(store.logFile).size : 0;
    const child = spawnServer(store, { ...settings, port: String(port) }, environment);
    if (await becomesReady(store.data, child.pid, log)) return { pid: child.pid, port };
    const said = readFileSync(store.logFile, 'utf8').slice(from);
    if (child.exitCode === null && child.signalCode === null) await stopProcess(child.pid, [['SIGQUIT', 5000]]);
    // Retries, because sessions of a killed server survive for a moment, and another process may have taken the port.
    const passing = /shared memory block|still in use/.test(said) || !(await isFree(port));
    if (!passing || Date.now() > end) {
      const advice = `See the log: ${store.logFile}. Or set SVC_DATABASE_URL to use your own PostgreSQL.`;
      throw new Failure(
        'The private PostgreSQL server failed to start',
        advice,
        said.split('\n').slice(-12).join('\n'),
      );
    }
  }
}

function spawnServer(store, settings, environment) {
  const log = openSync(store.logFile, 'a', 0o600);
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // Runs in a separate process group, so that Ctrl-C reaches only the script, which stops the service before the stores.
  const child = spawn(store.program('postgres'), ['-D', store.data, ...args], {
    ...store.account,
    cwd: store.home,
    detached: true,
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...environment },
  });
  closeSync(log);
  child.on('error', () => {});
  child.unref();
  return child;
}

function isReady(data, pid) {
  return stateOf(data, pid) === 'ready';
}

/** Returns `starting`, `ready` or `stopping`, or undefined if the lock file belongs to another server. */
function stateOf(data, pid) {
  const lines = lockLines(data);
  return Number(lines[0]) === pid ? lines[7]?.trim() : undefined;
}

/**
 * Waits until the server is ready. Returns false if the server ends or the time limit passes first. The time limit is longer for a server that was killed,
 * because the server replays its WAL and would have to start over if it were stopped.
 */
async function becomesReady(data, pid, log) {
  if (pid === undefined) return false;
  const isOver = () => isReady(data, pid) || !isAlive(pid);
  if (!(await until(isOver, SOON_MS))) {
    const recovers = stateOf(data, pid) === 'starting';
    if (recovers) log('PostgreSQL is recovering after it was killed');
    await until(isOver, recovers ? RECOVERY_MS : SLOW_MS);
  }
  return isReady(data, pid) && isAlive(pid);
}

/**
 * Removes a stale lock file. Usually PostgreSQL removes the file itself and checks for sessions that still use the shared memory. The file must be removed here
 * only if its process ID belongs to another program or an unreaped zombie and no session is left.
 */
async function clearLeftovers(data) {
  const pid = Number(lockLines(data)[0]);
  if (!(pid > 0)) return;
  const unused = await until(() => processesIn(data).length === 0, 10_000);
  if (unused && isKnown(pid)) rmSync(path.join(data, 'postmaster.pid'), { force: true });
}
