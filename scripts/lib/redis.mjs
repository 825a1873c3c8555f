import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { commandPath } from './commands.mjs';
import { Failure } from './failure.mjs';
import { isFree, portFor } from './ports.mjs';
import { privateDirectory, secretIn, writePrivate } from './private-files.mjs';
import { commandOf, isAlive, signal, stopProcess, until } from './processes.mjs';

/**
 * startRedis starts a private Redis (or Valkey) on 127.0.0.1, or takes over a server that is still running from `dir`. Redis persists nothing, because it holds
 * only hints and PostgreSQL is authoritative. See redis.d.mts for the result.
 */
export async function startRedis({ dir, port }) {
  const home = privateDirectory(path.resolve(dir));
  const password = secretIn(path.join(home, 'password'));
  const running = await runningServer(home, password);
  if (running !== undefined && (port === undefined || port === running.port))
    return handle(home, running, password, true);
  await stopRedis(home);
  const program = commandPath('redis-server') ?? commandPath('valkey-server');
  if (program === undefined) {
    throw new Failure(
      'redis-server is not installed',
      'Install redis-server (or valkey), or set SVC_REDIS_URL to use your own Redis.',
    );
  }
  return handle(home, await launch(home, program, port, password), password, false);
}

/** stopRedis stops the server of `dir`, if an earlier run left one behind. */
export async function stopRedis(dir) {
  const pid = recordedPid(path.resolve(dir));
  if (pid !== undefined) await stopServer(pid);
}

function handle(home, { pid, port }, password, reused) {
  return {
    url: `redis://:${password}@127.0.0.1:${port}`,
    port,
    pid,
    reused,
    logFile: path.join(home, 'redis.log'),
    stop: () => stopServer(pid),
    kill: async (name = 'SIGKILL') => {
      signal(pid, name);
      if (name === 'SIGKILL' || name === 'SIGTERM') await until(() => !isAlive(pid), 10_000);
    },
  };
}

async function stopServer(pid) {
  await stopProcess(pid, [['SIGTERM', 5000]]);
}

async function launch(home, program, wantedPort, password) {
  const logFile = path.join(home, 'redis.log');
  for (let attempt = 1; ; attempt += 1) {
    const port = await portFor(path.join(home, 'port'), wantedPort);
    const config = path.join(home, 'redis.conf');
    writePrivate(config, configuration(home, port, password));
    const log = openSync(logFile, 'w', 0o600);
    // Runs in a separate process group, so that Ctrl-C reaches only the script, which stops the service before the stores.
    const child = spawn(program, [config], { cwd: home, detached: true, stdio: ['ignore', log, log] });
    closeSync(log);
    child.on('error', () => {});
    child.unref();
    const ended = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
    const answers = await until(async () => ended() || (await ping(port, password)), 15_000);
    if (answers && !ended()) {
      writeFileSync(path.join(home, 'running'), `${child.pid} ${port}\n`);
      return { pid: child.pid, port };
    }
    if (!ended()) await stopProcess(child.pid, []);
    if (attempt === 3 || (await isFree(port))) {
      const advice = `See the log: ${logFile}. Or set SVC_REDIS_URL to use your own Redis.`;
      throw new Failure(
        'The private Redis server failed to start',
        advice,
        readFileSync(logFile, 'utf8').trim().split('\n').slice(-8).join('\n'),
      );
    }
  }
}

/** Returns the configuration, which is passed in a file because everyone on the machine can read arguments. */
function configuration(home, port, password) {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${JSON.stringify(home)}`,
    `requirepass ${password}`,
    'maxmemory 256mb',
    'maxmemory-policy noeviction',
    'save ""',
    'appendonly no',
    'daemonize no',
    '',
  ].join('\n');
}

function recordedPid(home) {
  return recorded(home)?.pid;
}

/** Returns the process ID and port of the last start, if that process is still the server of this directory. */
function recorded(home) {
  try {
    const [pid, port] = readFileSync(path.join(home, 'running'), 'utf8').split(' ').map(Number);
    // A running server shows "redis-server 127.0.0.1:PORT" as its command line.
    if (pid > 0 && isAlive(pid) && commandOf(pid).includes(`127.0.0.1:${port}`)) return { pid, port };
  } catch {
    // There was no earlier start.
  }
  return undefined;
}

async function runningServer(home, password) {
  const last = recorded(home);
  return last !== undefined && (await ping(last.port, password)) ? last : undefined;
}

/** Reports whether a server on the port accepts the password and answers PING. */
function ping(port, password) {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    const end = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    let said = '';
    socket.setTimeout(1000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (chunk) => {
      said += chunk;
      if (said.includes('+PONG')) end(true);
      else if (said.includes('-')) end(false);
    });
  });
}
