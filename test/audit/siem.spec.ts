import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReceivedCall, WebReceiver } from '../fakes/web-receiver.js';
import { type Service, runToEnd } from '../support/service.js';
import { digestOf, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { Rsyslog } from './rsyslog.js';

/** 5,000 entries go to rsyslog and to a receiver over HTTP, while both of them and the process that sends are killed, fail or lie. */
const EVENTS = 5000;
const has =
  existsSync('/usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_ossl.so') ||
  existsSync('/usr/lib/aarch64-linux-gnu/rsyslog/lmnsd_ossl.so');

let stage: Stage;
let api: Service;
let apiKey: string;
let rsyslog: Rsyslog;
let settings: Record<string, string>;
const lake = new WebReceiver();
const accepted: ReceivedCall[] = [];
const directory = mkdtempSync(join(tmpdir(), 'sealwright-siem-'));

beforeAll(async () => {
  if (!has) return;
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  rsyslog = await Rsyslog.in(directory);
  await rsyslog.start();
  await lake.start();
  const token = join(directory, 'token');
  writeFileSync(token, 'Splunk 11111111-2222-3333-4444-555555555555\n');
  const streams = [
    `siem syslog+tls://127.0.0.1:${rsyslog.port} ca=${rsyslog.certificate} from=start resend-seconds=2`,
    `lake http://127.0.0.1:${lake.port}/in from=start authorization=${token}`,
  ];
  settings = { SVC_AUDIT_STREAMS: streams.join('\n'), SVC_OUTBOUND_ALLOW: '127.0.0.1' };
  api = await stage.start({ role: 'api', settings });
});
afterAll(async () => {
  await rsyslog?.kill('SIGKILL');
  await lake.stop().catch(() => undefined);
  await stage?.close();
  rmSync(directory, { recursive: true, force: true });
});

async function signed(count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, i) => ({ digest: digestOf(`${count} ${i} ${Math.random()}`) }));
  const { status } = await api.call('POST', '/api/v1/sign/batch', { key: apiKey, body: { items } });
  expect(status).toBe(200);
}

const size = async () => Number((await stage.sql<{ size: string }>('SELECT size FROM log_head'))[0]?.size);
const position = async (stream: string) =>
  Number(
    (await stage.sql<{ position: string }>('SELECT position FROM audit_stream WHERE id = $1', [stream]))[0]?.position ??
      -1,
  );
const whole = (count: number) => Array.from({ length: count }, (_, i) => i);
const numberIn = (line: string) => Number(/ number="(\d+)"/.exec(line)?.[1]);
const sent = (calls: readonly ReceivedCall[]) =>
  calls
    .flatMap(({ body }) => body.trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as { metadata: { sequence: number; uid: string } });

/** Answers 500, then 429, then nothing at all; everything else is taken. */
function unreliable(): void {
  let calls = 0;
  lake.reacts((response, call) => {
    calls += 1;
    if (calls === 2) response.writeHead(500).end('no');
    else if (calls === 3) response.writeHead(429, { 'retry-after': '1' }).end();
    else if (calls === 4) response.destroy();
    else {
      accepted.push(call);
      response.end('{"text":"Success","code":0}');
    }
  });
}

describe.runIf(has)('the audit log as a stream', () => {
  let count: number;

  it('reaches rsyslog and a receiver over HTTP whole, although receivers and the sender are killed', async () => {
    unreliable();
    const first = await stage.start({ role: 'worker', settings });
    await signed(900);
    await until('something is received', 60, () => rsyslog.lines().length > 200);
    await rsyslog.kill('SIGKILL');
    await signed(900);
    await rsyslog.start();
    await until('the stream goes on', 60, () => rsyslog.lines().length > 1000);
    await first.kill('SIGKILL');
    await stage.start({ role: 'worker', settings });
    await signed(800);
    await until('all entries have their number', 60, async () => {
      const [row] = await stage.sql<{ n: number }>('SELECT count(*)::int AS n FROM log_waiting');
      return row?.n === 0 && (await size()) >= EVENTS;
    });
    count = await size();
    await until(
      'both receivers have everything',
      120,
      async () => (await position('siem')) >= count && (await position('lake')) >= count,
    );
    expect(count).toBeGreaterThanOrEqual(EVENTS);
  });

  it('to rsyslog has each entry once by its number, without a gap, and is what the log has', async () => {
    const lines = rsyslog.lines();
    const unique = new Map(lines.map((line) => [numberIn(line), line.slice(line.indexOf('{'))]));
    expect([...unique.keys()].sort((a, b) => a - b).slice(0, count)).toEqual(whole(count));
    // What was sent twice was sent twice in the same words.
    for (const line of lines) expect(line.slice(line.indexOf('{'))).toBe(unique.get(numberIn(line)));
    const leaves = await stage.sql<{ index: string; entry_id: string }>('SELECT index, entry_id FROM log_leaf');
    for (const { index, entry_id } of leaves)
      if (Number(index) < count) expect(unique.get(Number(index))).toContain(entry_id);
  });

  it('has no control character and no secret in it', () => {
    const text = [...rsyslog.lines(), ...accepted.map(({ body }) => body.trimEnd().replaceAll('\n', ''))].join('');
    expect(text).toMatch(/^[ -~]*$/);
    expect(text).not.toContain(apiKey);
    expect(text).not.toContain('11111111-2222');
  });

  it('over HTTP has each entry once by its number, in order, with the credential in a header', () => {
    const numbers = sent(accepted).map(({ metadata }) => metadata.sequence);
    expect([...new Set(numbers)].slice(0, count)).toEqual(whole(count));
    expect(
      accepted.every(({ headers }) => headers.authorization === 'Splunk 11111111-2222-3333-4444-555555555555'),
    ).toBe(true);
  });

  it('delays no call while a receiver is away, and says how far it is behind', async () => {
    await rsyslog.kill('SIGKILL');
    const began = performance.now();
    await signed(1);
    expect(performance.now() - began).toBeLessThan(5000);
    const said = await until('the failure is recorded', 30, async () => {
      const findings = JSON.parse(await doctor()) as { what: string; state: string; detail: string }[];
      return findings.find(({ what, detail }) => what === 'stream siem' && detail.includes('ECONNREFUSED'));
    });
    expect(said).toMatchObject({ state: 'warn' });
    const metrics = await api.call('GET', '/actuator/prometheus', { key: apiKey });
    expect(metrics.body).toMatch(/^sealwright_stream_waiting\{stream="siem"\} \d+$/m);
    expect(metrics.body).toMatch(/^sealwright_stream_last_success_seconds\{stream="lake"\} /m);
    await rsyslog.start();
    const last = await size();
    await until('the stream has caught up', 90, async () => (await position('siem')) >= last);
    expect(new Set(rsyslog.lines().map(numberIn)).size).toBeGreaterThanOrEqual(last);
  });
});

/** `doctor` exits with 1 when anything is bad, such as the queue of a worker that was killed. */
async function doctor(): Promise<string> {
  try {
    return await runToEnd(['doctor', '--all', '--json'], { ...stage.settings, ...settings });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
