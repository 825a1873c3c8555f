import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Rsyslog } from '../test/fakes/rsyslog.js';
import { WebReceiver, type ReceivedCall } from '../test/fakes/web-receiver.js';
import { digestOf, until } from '../test/support/signing.js';
import { openStage } from '../test/support/stage.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- streams [--entries N]
 * Streams audit entries to rsyslog and over HTTP, while rsyslog, the receiver and the sending worker are killed or fail.
 * Exits with 0 if both rsyslog and the HTTP receiver received every entry, in the order of the entry numbers and without gaps.
 */
const { values } = parseArgs({ options: { entries: { type: 'string', default: '5000' } } });
const ENTRIES = Number(values.entries);
const PATIENCE_S = 240;
/** Each signature in a batch has two audit entries. */
const BATCH = Math.min(1000, Math.ceil(ENTRIES / 6));
const { say, check, conclude } = new Findings();

const directory = mkdtempSync(join(tmpdir(), 'sealwright-streams-'));
const stage = await openStage();
const lake = new WebReceiver();
const rsyslog = await Rsyslog.in(directory);
const accepted: ReceivedCall[] = [];
let calls = 0;

try {
  const { apiKey } = await stage.seed();
  await rsyslog.start();
  await lake.start();
  lake.reacts((response, call) => {
    calls += 1;
    if (calls % 7 === 2) response.writeHead(500).end();
    else if (calls % 7 === 4) response.writeHead(429, { 'retry-after': '1' }).end();
    else if (calls % 7 === 6) response.destroy();
    else {
      accepted.push(call);
      response.end();
    }
  });
  const streams = [
    `siem syslog+tls://127.0.0.1:${rsyslog.port} ca=${rsyslog.certificate} from=start resend-seconds=5`,
    `lake http://127.0.0.1:${lake.port}/in from=start`,
  ];
  const settings = { SVC_AUDIT_STREAMS: streams.join('\n'), SVC_OUTBOUND_ALLOW: '127.0.0.1' };
  const api = await stage.start({ role: 'api', settings });
  const size = async () => Number((await stage.sql<{ size: string }>('SELECT size FROM log_head'))[0]?.size);
  const sign = async () => {
    const items = Array.from({ length: BATCH }, () => ({ digest: digestOf(String(Math.random())) }));
    const { status } = await api.call('POST', '/api/v1/sign/batch', { key: apiKey, body: { items } });
    if (status !== 200) throw new Error(`a batch was answered with ${status}`);
  };

  let worker = await stage.start({ role: 'worker', settings });
  for (let round = 0; round < 2 || (await size()) < ENTRIES; round += 1) {
    const before = rsyslog.lines().length;
    await sign();
    await until('rsyslog receives something', PATIENCE_S, async () => rsyslog.lines().length > before);
    if (round % 2 === 0) {
      await rsyslog.kill('SIGKILL');
      await sign();
      await rsyslog.start();
      say(`rsyslog was killed at ${rsyslog.lines().length} lines`);
    } else {
      await worker.kill('SIGKILL');
      worker = await stage.start({ role: 'worker', settings });
      say(`the worker was killed at ${rsyslog.lines().length} lines`);
    }
  }
  await until('all entries have their number', PATIENCE_S, async () => {
    const [row] = await stage.sql<{ n: number }>('SELECT count(*)::int AS n FROM log_waiting');
    return row?.n === 0;
  });
  const count = await size();
  const began = performance.now();
  await until('both receivers have acknowledged everything', PATIENCE_S, async () => {
    const rows = await stage.sql<{ position: string }>('SELECT position FROM audit_stream');
    return rows.length === 2 && rows.every(({ position }) => Number(position) >= count);
  });
  say(`${count} entries, acknowledged ${Math.round((performance.now() - began) / 1000)} s after the last`);

  const lines = rsyslog.lines();
  const bySyslog = new Map(
    lines.map((line) => [Number(/ number="(\d+)"/.exec(line)?.[1]), line.slice(line.indexOf('{'))]),
  );
  const numbers = accepted
    .flatMap(({ body }) => body.trimEnd().split('\n'))
    .map((line) => (JSON.parse(line) as { metadata: { sequence: number } }).metadata.sequence);
  const missing = (got: { has(number: number): boolean }) =>
    Array.from({ length: count }, (_, number) => number).filter((number) => !got.has(number)).length;
  const first = [...new Set(numbers)];
  check(
    'rsyslog has each number',
    missing(bySyslog) === 0,
    `${lines.length} lines, ${lines.length - bySyslog.size} of them sent again`,
  );
  check(
    'what was sent again says the same',
    lines.every((line) => bySyslog.get(Number(/ number="(\d+)"/.exec(line)?.[1])) === line.slice(line.indexOf('{'))),
  );
  check('HTTP has each number', missing(new Set(numbers)) === 0, `${numbers.length - first.length} sent again`);
  check(
    'HTTP has them in order',
    first.every((number, at) => number === at),
  );
} finally {
  await rsyslog.kill('SIGKILL');
  await lake.stop();
  await stage.close();
  rmSync(directory, { recursive: true, force: true });
}
conclude();
