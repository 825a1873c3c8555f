import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Failure } from './failure.mjs';
import { stopLeftover } from './claim.mjs';
import { signal, stopProcess } from './processes.mjs';
import { inRoot, ROOT } from './project.mjs';
import { lastLines } from './steps.mjs';

const PROGRAM = inRoot('dist/main.js');
const LOG_LIMIT = 20 * 1024 * 1024;
const PATIENCE = 90_000;

/** Service runs the service in a separate process. The service writes its log to a file, so that it does not depend on the process that started the service. */
export class Service {
  #logFile;
  #pidFile;
  #child;
  #from;
  #stopping = false;
  #onEnd;

  constructor({ logFile, pidFile }) {
    this.#logFile = logFile;
    this.#pidFile = pidFile;
  }

  get logFile() {
    return this.#logFile;
  }

  get pid() {
    return this.#child?.pid;
  }

  get running() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Stops a service left behind by a start that was killed. */
  stopLeftover() {
    return stopLeftover(this.#pidFile, PROGRAM);
  }

  start(env) {
    if (existsSync(this.#logFile) && statSync(this.#logFile).size > LOG_LIMIT)
      renameSync(this.#logFile, `${this.#logFile}.1`);
    const log = openSync(this.#logFile, 'a', 0o600);
    this.#from = statSync(this.#logFile).size;
    // Runs in a separate process group, so that Ctrl-C reaches the service only once, through stop().
    const child = spawn(process.execPath, ['--enable-source-maps', PROGRAM], {
      cwd: ROOT,
      env,
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    child.on('error', () => {});
    // The exit event of a process may arrive after its successor has started.
    child.on('exit', (code, name) => {
      if (child === this.#child && !this.#stopping) this.#onEnd?.(code ?? name);
    });
    this.#child = child;
    this.#stopping = false;
    if (this.pid !== undefined) writeFileSync(this.#pidFile, `${this.pid}\n`, { mode: 0o600 });
  }

  /** Calls `callback` with each warning or error that the service logs from now on. */
  onTrouble(callback) {
    let offset = statSync(this.#logFile).size;
    let rest = '';
    const read = () => {
      const text = readFrom(this.#logFile, offset);
      offset += Buffer.byteLength(text);
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines.filter((candidate) => isTrouble(candidate))) callback(line);
    };
    setInterval(read, 300).unref();
  }

  /** Resolves with the exit code, or the signal's name, when the process has ended on its own. */
  ended() {
    return new Promise((resolve) => {
      this.#onEnd = resolve;
      if (this.#child !== undefined && !this.running) resolve(this.#child.exitCode ?? this.#child.signalCode);
    });
  }

  /** Waits until the service reports that it is up. */
  async becomesHealthy(url) {
    const end = Date.now() + PATIENCE;
    let last = 'it does not respond';
    while (Date.now() < end) {
      if (!this.running)
        throw this.#failure(`The service exited during startup (${this.#child.exitCode ?? this.#child.signalCode})`);
      const health = await healthOf(url);
      if (health.up) return;
      last = health.said ?? last;
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
    throw this.#failure(`The service did not start within ${PATIENCE / 1000} s: ${last}`);
  }

  #failure(message) {
    const said = readFrom(this.#logFile, this.#from);
    return new Failure(message, `Its last output is above. The full log is ${this.#logFile}.`, lastLines(said, 25));
  }

  /** Kills the service and its child processes immediately. */
  kill() {
    if (this.running) signal(-this.pid, 'SIGKILL');
  }

  async stop() {
    this.#stopping = true;
    if (this.running) await stopProcess(this.pid, [['SIGTERM', 35_000]]);
    rmSync(this.#pidFile, { force: true });
  }
}

async function healthOf(url) {
  try {
    const response = await fetch(`${url}/actuator/health`, { signal: AbortSignal.timeout(3000) });
    const body = await response.json().catch(() => ({}));
    if (response.status === 200) return { up: true };
    const down = Object.entries(body.components ?? {}).filter(([, { status }]) => status !== 'UP');
    return { up: false, said: `${body.status ?? response.status} ${down.map(([name]) => name).join(', ')}`.trim() };
  } catch {
    return { up: false };
  }
}

function readFrom(file, offset) {
  const length = statSync(file).size - offset;
  if (length <= 0) return '';
  const buffer = Buffer.alloc(Math.min(length, 1024 * 1024));
  const descriptor = openSync(file, 'r');
  try {
    const read = readSync(descriptor, buffer, 0, buffer.length, offset);
    // An incomplete line is read again by the next call.
    const whole = buffer.lastIndexOf(0x0a, read - 1) + 1;
    return buffer.toString('utf8', 0, whole);
  } finally {
    closeSync(descriptor);
  }
}

/** Reports whether to show a line. Warnings and errors are shown, and so is output of the runtime, such as a crash message, which is not JSON. */
function isTrouble(line) {
  if (line.trim() === '') return false;
  try {
    return ['warn', 'error', 'fatal'].includes(String(JSON.parse(line).level).toLowerCase());
  } catch {
    return !/\b(LOG|DEBUG|VERBOSE)\b/.test(line);
  }
}
