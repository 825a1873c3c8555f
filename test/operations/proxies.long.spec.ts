import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/lib/ports.mjs';
import { has } from '../support/peers.js';
import type { Service } from '../support/service.js';
import { digestOf, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/**
 * Runs the examples in deploy/proxy in front of three api processes that are restarted in turn. Only the names, ports and certificate of an example are
 * changed.
 */
const EXAMPLES = join(import.meta.dirname, '../../deploy/proxy');

let stage: Stage;
let apiKey: string;
let directory: string;
let apis: Service[];
let ports: number[];
const proxies: ChildProcess[] = [];

const settings = (port: number) => ({
  SVC_PORT: String(port),
  SVC_PUBLIC_URL: 'https://sealwright.example.com',
  SVC_TRUST_PROXY: '127.0.0.1',
  SVC_DRAIN_SECONDS: '6',
});

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  directory = mkdtempSync(join(tmpdir(), 'sealwright-proxy-'));
  ports = [await freePort(), await freePort(), await freePort()];
  apis = await Promise.all(ports.map((port) => stage.start({ role: 'api', settings: settings(port) })));
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const names = [
    '-subj',
    '/CN=sealwright.example.com',
    '-keyout',
    join(directory, 'key'),
    '-out',
    join(directory, 'cert'),
  ];
  execFileSync('openssl', [...made, ...names], { stdio: 'ignore' });
  const [key, cert] = [readFileSync(join(directory, 'key')), readFileSync(join(directory, 'cert'))];
  writeFileSync(join(directory, 'sealwright.pem'), Buffer.concat([cert, key]));
  writeFileSync(join(directory, 'sealwright.key'), key);
});
afterAll(async () => {
  for (const proxy of proxies) {
    proxy.kill('SIGTERM');
    if (proxy.exitCode === null && proxy.signalCode === null) await once(proxy, 'exit');
  }
  await stage.close();
  rmSync(directory, { recursive: true });
});

/** Writes the example with the test's names and ports. */
function example(name: string, port: number): string {
  const text = readFileSync(join(EXAMPLES, name), 'utf8')
    .replaceAll(/api(\d)\.example\.com:9090/g, (_, number: string) => `127.0.0.1:${ports[Number(number) - 1]}`)
    .replaceAll(/\/etc\/(?:haproxy|nginx)\//g, `${directory}/`)
    .replace('bind :443', `bind 127.0.0.1:${port}`)
    .replace('listen 443', `listen 127.0.0.1:${port}`);
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

const agent = new Agent({ keepAlive: true, maxSockets: 4 });

function ask(port: number, method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      host: 'sealwright.example.com',
      authorization: `Bearer ${apiKey}`,
      'x-forwarded-for': '203.0.113.9',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const ca = readFileSync(join(directory, 'cert'));
    const options = { host: '127.0.0.1', port, method, path, headers, agent, ca, servername: 'sealwright.example.com' };
    const call = request(options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Sends calls until `work` has finished and returns the failures that a client would notice. */
async function during(port: number, work: () => Promise<void>): Promise<{ answers: number; noticed: string[] }> {
  const noticed: string[] = [];
  let answers = 0;
  const stopped = new AbortController();
  const lanes = Array.from({ length: 3 }, async (_, lane) => {
    for (let number = 0; !stopped.signal.aborted; number += 1) {
      const body = { digest: digestOf(`proxy ${lane} ${number}`), algorithm: 'sha256' };
      const answer = await ask(port, 'POST', '/api/v1/sign/digest', body).catch((error: Error) => ({
        status: 0,
        text: String(error),
      }));
      answers += 1;
      if (answer.status !== 200) noticed.push(`${answer.status} ${answer.text.slice(0, 200)}`);
      await sleep(10);
    }
  });
  await work();
  stopped.abort();
  await Promise.all(lanes);
  return { answers, noticed };
}

const PROXIES = [
  {
    program: 'haproxy',
    file: 'haproxy.cfg',
    check: (file: string) => ['-c', '-f', file],
    run: (file: string) => ['-db', '-f', file],
  },
  {
    program: 'nginx',
    file: 'nginx.conf',
    check: (file: string) => ['-t', '-q', '-p', directory, '-c', file, '-g', `pid ${directory}/pid; error_log stderr;`],
    run: (file: string) => ['-p', directory, '-c', file, '-g', `pid ${directory}/pid; error_log stderr; daemon off;`],
  },
];

describe.each(PROXIES)('behind $program', ({ program, file, check, run }) => {
  it.runIf(has(program))('the example works, and three restarts under load go unnoticed', async () => {
    const port = await freePort();
    const config = example(file, port);
    execFileSync(program, check(config), { stdio: 'pipe' });
    proxies.push(spawn(program, run(config), { stdio: 'ignore' }));
    await until('the proxy answers', 30, () =>
      ask(port, 'GET', '/actuator/health/readiness').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    expect((await ask(port, 'GET', '/actuator/prometheus')).status).toBe(404);
    const { answers, noticed } = await during(port, async () => {
      for (const [at, old] of apis.entries()) {
        await old.kill('SIGTERM');
        apis[at] = await stage.start({ role: 'api', settings: settings(ports[at] ?? 0) });
        await sleep(5000);
      }
    });
    console.info(`${program}: ${answers} answers during three restarts, ${noticed.length} noticed`);
    expect(noticed).toEqual([]);
    // The service ignores the address claimed by the client and uses the address reported by the proxy.
    const [entry] = await stage.sql<{ source: string }>(
      `SELECT source FROM audit_entry WHERE action LIKE 'signing.%' AND source <> '' ORDER BY id DESC LIMIT 1`,
    );
    expect(entry?.source).toBe('127.0.0.1');
  });
});
