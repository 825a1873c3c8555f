import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { watchEventLoop } from '../support/event-loop.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

const P99_MS = 100;
const loop = watchEventLoop();
let stage: Stage;
let service: Service;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api', settings: loop.settings });
});
afterAll(() => stage.close());

const take = (format: string, text: string) =>
  service.call('POST', '/v1/hosts/import', { key: apiKey, body: { format, text, onRefusal: 'skip', dryRun: true } });
const bomb = (levels: number) =>
  [
    'a0: &a0 {hosts: {x: }}',
    ...Array.from({ length: levels }, (_, i) => {
      const children = Array.from({ length: 10 }, (_one, j) => `${j}: *a${i}`).join(', ');
      return `a${i + 1}: &a${i + 1} {children: {${children}}}`;
    }),
  ].join('\n');

describe('an expensive import', () => {
  it.each([
    ['aliases of YAML, 900 bytes', 'ansible-yaml', () => bomb(8)],
    ['aliases of YAML, twenty levels', 'ansible-yaml', () => bomb(20)],
    ['ranges within ranges', 'ansible-ini', () => `x${'[0:99]'.repeat(10)}`],
    [
      'groups that hold each other',
      'ansible-ini',
      () => Array.from({ length: 4000 }, (_, i) => `[g${i}:children]\ng${i + 1}\n[g${i + 1}]\nh[0:900]`).join('\n'),
    ],
    [
      'patterns for every host',
      'ssh-config',
      () => Array.from({ length: 4000 }, (_, i) => `Host h${i} ${'*a*a*a*b '.repeat(20)}`).join('\n'),
    ],
    ['addresses without end', 'list', () => '0.0.0.0-255.255.255.255'],
    ['too many hosts', 'csv', () => `name,address\n${'a,b\n'.repeat(400_000)}`],
  ])('%s: is rejected without delaying others', async (_, format, make) => {
    const text = make();
    let answer: Awaited<ReturnType<typeof take>> | undefined;
    const delays = await loop.during(service, async () => {
      answer = await take(format, text);
    });
    assertProblem(answer as never, { status: 422, code: 'host-import.too-large', pointer: '/text' });
    expect(delays.p99).toBeLessThan(P99_MS);
  });

  it('compares unknown hashed names with all hosts without blocking other requests', async () => {
    await stage.sql(
      `INSERT INTO host (id, name, address) SELECT gen_random_uuid(), 'h' || n, 'h' || n || '.example' FROM generate_series(1, 1000) n`,
    );
    const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0QkGzGxYH2kkXP3XzLzmGxYH2kkXP3XzLzmGxYH2kk';
    const lines = Array.from(
      { length: 100 },
      (_, i) => `|1|${Buffer.alloc(20, i + 1).toString('base64')}|${Buffer.alloc(20).toString('base64')} ${key}`,
    );
    const delays = await loop.during(service, async () => {
      expect((await take('known-hosts', lines.join('\n'))).body.counts).toEqual({ refused: 100 });
    });
    expect(delays.p99).toBeLessThan(P99_MS);
  });

  it('of five thousand hosts succeeds while others are served', async () => {
    const text = Array.from({ length: 5000 }, (_, i) => `n${i}.example.net`).join('\n');
    const delays = await loop.during(service, async () => {
      expect((await take('list', text)).body.counts).toEqual({ created: 5000 });
    });
    expect(delays.p99).toBeLessThan(P99_MS);
  });

  it('ends when its client disconnects, and nothing is stored', async () => {
    const names = Array.from({ length: 5000 }, (_, i) => `left${i}.example.net`).join(' ');
    const body = JSON.stringify({ format: 'list', text: names });
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(
      `POST /v1/hosts/import HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    const locks = `SELECT count(*) AS n FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND a.datname = current_database()`;
    await until('the import to write', 60, async () => Number((await stage.sql<{ n: string }>(locks))[0]?.n) > 0);
    socket.destroy();
    await until('the import to end', 60, async () => Number((await stage.sql<{ n: string }>(locks))[0]?.n) === 0);
    expect(await stage.sql(`SELECT 1 FROM host WHERE name LIKE 'left%' LIMIT 1`)).toEqual([]);
  });
});
