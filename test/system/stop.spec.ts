import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const MAIN = join(import.meta.dirname, '../../dist/main.js');
/** Root creates the PID namespace directly; other users need a user namespace in which they are root. */
const NEW_PIDS = [
  '--pid',
  '--fork',
  '--kill-child',
  ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']),
];
const NO_DATABASE = { SVC_DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

interface Process {
  readonly child: ChildProcess;
  /** Returns the output so far. */
  said(): string;
}

async function begin(
  command: string,
  args: string[],
  settings: Record<string, string>,
  says: string,
): Promise<Process> {
  const child = spawn(command, args, { env: { ...process.env, ...stage.settings, ...settings } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(`it says: ${says}`, 60, async () => said.includes(says));
  return { child, said: () => said };
}

/** Starts the service as the first process of a PID namespace, as in a container. */
async function first(settings: Record<string, string>, says: string) {
  const { child, said } = await begin('unshare', [...NEW_PIDS, process.execPath, MAIN], settings, says);
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
  return { child, said, stop: () => process.kill(pid, 'SIGTERM') };
}

describe.skipIf(process.platform !== 'linux')(
  'PID 1 in a container, which receives only signals that it handles',
  () => {
    it.each([
      ['at work', {}, 'listening on'],
      ['that waits for its database', NO_DATABASE, 'Unable to connect to the database'],
    ])('%s exits with 0 when told to stop', async (_, settings, says) => {
      const { child, said, stop } = await first({ ...settings, SVC_STOP_SECONDS: '20' }, says);
      stop();
      const [code] = await once(child, 'exit');
      expect([code, said()]).toEqual([0, expect.stringContaining('received SIGTERM')]);
      expect(said()).not.toMatch(/FATAL|not stopped/);
    });
  },
);

it('SIGHUP stops the process like SIGTERM: it is not reported as missing', async () => {
  const service = await stage.start({ role: 'api' });
  expect(await service.kill('SIGHUP')).toBe('SIGHUP');
  expect(service.log()).toContain('received SIGHUP: finishing work in progress first');
  expect(await stage.sql('SELECT 1 FROM service_instance')).toEqual([]);
});

it('a process waiting for its database exits immediately', async () => {
  const { child } = await begin(process.execPath, [MAIN], NO_DATABASE, 'Unable to connect to the database');
  child.kill('SIGTERM');
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGTERM');
});

it('an address in use is reported with the settings to correct', async () => {
  const service = await stage.start({ role: 'api' });
  const { port } = new URL(service.url);
  const taken = await stage.start({ role: 'api', settings: { SVC_PORT: port } }).catch(String);
  expect(taken).toContain('another process is already listening there; correct SVC_HOST and SVC_PORT');
});

const CALL = 'GET /actuator/health/liveness HTTP/1.1\r\nhost: sealwright.local\r\n\r\n';
it.each([
  ['sends nothing', ''],
  ['sends half of a request', 'POST /api/v1/sign/digest HTTP/1.1\r\nhost: sealwright.local\r\n'],
  ['was answered and sends half of another request', `${CALL}GET /api/v1`],
])('shutdown does not wait for a connection that %s', async (_, text) => {
  const service = await stage.start({ settings: { SVC_STOP_SECONDS: '10' } });
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(text);
  if (text.startsWith(CALL)) await once(socket, 'data');
  try {
    expect(await service.kill()).toBe('SIGTERM');
    expect(service.log()).not.toContain('not stopped');
  } finally {
    socket.destroy();
  }
});
