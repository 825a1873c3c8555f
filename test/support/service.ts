import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { keepLog, noteExchange } from './issued-secrets.js';

/** Records a service's statements in runs that end with the check `plans`. */
const RECORDED: Record<string, string> =
  process.env['SW_TEST_EVIDENCE'] === undefined
    ? {}
    : { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'statement-recorder.mjs')}` };
const DIST = join(import.meta.dirname, '../../dist');
const STARTED = /listening on (http:\/\/\S+)|working in the background/;
/** Matches a Buffer in JSON. Views return bytes as text, so a match is a raw column, such as a seal, that a view copied from its row. */
const BYTES = /"type":"Buffer","data":\[/;

export interface ServiceOptions {
  readonly role?: 'all' | 'api' | 'worker';
  /** Directory of the build, by default the build of this tree. */
  readonly dist?: string;
  /** Settings that override the stage's settings. */
  readonly settings?: Record<string, string>;
}

/** A running process of the built service. */
export interface Service {
  /** Base URL; empty for a worker. */
  readonly url: string;
  readonly pid: number;
  /** Returns the output of the process. */
  log(): string;
  /** Sends the signal and waits for the process to end. SIGTERM stops gracefully. @returns the exit code, or the signal that ended the process */
  kill(signal?: NodeJS.Signals): Promise<number | string | null>;
  /** Calls the API with `key` as bearer token. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export interface CallOptions {
  readonly key?: string;
  /** Request body, sent as JSON. A Buffer or string is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- responses can have any shape
  readonly body: any;
}

/** Starts the built service and waits until it is ready. Throws an error that contains the service's output if the service does not start. */
export async function startService(settings: Record<string, string>, options: ServiceOptions = {}): Promise<Service> {
  const role = options.role ?? 'all';
  const env = { ...process.env, ...RECORDED, ...settings, ...options.settings, SVC_ROLE: role };
  const child = spawn(process.execPath, [join(options.dist ?? DIST, role === 'worker' ? 'worker.js' : 'main.js')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  const note = (chunk: Buffer) => {
    log += chunk.toString();
    keepLog(child.pid, chunk);
  };
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  const url = await started(child, () => log);
  return {
    url,
    pid: child.pid ?? 0,
    log: () => log,
    kill: (signal = 'SIGTERM') => end(child, signal),
    call: (method, path, callOptions) => call(`${url}${path}`, method, callOptions),
  };
}

/** Runs a command of the built CLI and returns the command's output. */
export async function runToEnd(
  args: string[],
  settings: Record<string, string>,
  { dist = DIST, timeoutMs = 180_000 } = {},
): Promise<string> {
  const env = { ...process.env, ...settings };
  const { stdout } = await promisify(execFile)(process.execPath, [join(dist, 'cli.js'), ...args], {
    env,
    timeout: timeoutMs,
  });
  return stdout;
}

async function started(child: ChildProcess, log: () => string): Promise<string> {
  const deadline = Date.now() + 120_000;
  while (Date.now() < deadline) {
    const found = STARTED.exec(log());
    if (found !== null) return found[1] ?? '';
    if (child.exitCode !== null || child.signalCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill('SIGKILL');
  throw new Error(`the service did not start:\n${log()}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill(signal);
    await once(child, 'exit');
  }
  return child.exitCode ?? child.signalCode;
}

async function call(url: string, method: string, { key, body, headers = {} }: CallOptions = {}): Promise<Answer> {
  const raw = typeof body === 'string' || Buffer.isBuffer(body);
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : raw ? (body as string) : JSON.stringify(body),
  });
  const text = await response.text();
  noteExchange(raw ? String(body) : (JSON.stringify(body) ?? ''), response.status, response.headers, text);
  if (BYTES.test(text)) throw new Error(`${method} ${url} shows bytes of a database row: ${text}`);
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text };
}
