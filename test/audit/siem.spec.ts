import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Rsyslog } from '../fakes/rsyslog.js';
import { WebReceiver } from '../fakes/web-receiver.js';
import { type Service, runToEnd } from '../support/service.js';
import { digestOf, until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/** The audit log is streamed to rsyslog and to an HTTP receiver. `npm run proof -- streams` also kills each component during delivery. */
const DRIVERS = ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/rsyslog/lmnsd_ossl.so`);
const CREDENTIAL = 'Splunk 11111111-2222-3333-4444-555555555555';

let stage: Stage;
let service: Service;
let apiKey: string;
let rsyslog: Rsyslog;
let settings: Record<string, string>;
const lake = new WebReceiver();
const directory = mkdtempSync(join(tmpdir(), 'sealwright-siem-'));

const size = async () => Number((await stage.sql<{ size: string }>('SELECT size FROM log_head'))[0]?.size);
const numbers = () => rsyslog.lines().map((line) => Number(/ number="(\d+)"/.exec(line)?.[1]));

async function signed(count: number): Promise<void> {
  const items = Array.from({ length: count }, () => ({ digest: digestOf(String(Math.random())) }));
  const { status } = await service.call('POST', '/api/v1/sign/batch', { key: apiKey, body: { items } });
  expect(status).toBe(200);
}

/** Returns the output of `doctor`, which exits with 1 if any check fails. */
async function doctor(): Promise<string> {
  try {
    return await runToEnd(['doctor', '--all', '--json'], { ...stage.settings, ...settings });
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

describe.runIf(DRIVERS.some((file) => existsSync(file)))('the audit log stream', () => {
  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    rsyslog = await Rsyslog.in(directory);
    await rsyslog.start();
    await lake.start();
    const token = join(directory, 'token');
    writeFileSync(token, `${CREDENTIAL}\n`);
    const streams = [
      `siem syslog+tls://127.0.0.1:${rsyslog.port} ca=${rsyslog.certificate} from=start resend-seconds=1`,
      `lake http://127.0.0.1:${lake.port}/in from=start authorization=${token}`,
    ];
    settings = { SVC_AUDIT_STREAMS: streams.join('\n'), SVC_OUTBOUND_ALLOW: '127.0.0.1' };
    service = await stage.start({ settings });
  });
  afterAll(async () => {
    await rsyslog.kill('SIGKILL');
    await lake.stop();
    await stage.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('reaches rsyslog completely and unchanged, even if rsyslog is killed', async () => {
    await signed(100);
    await until('something is received', 60, async () => rsyslog.lines().length > 0);
    await rsyslog.kill('SIGKILL');
    await signed(100);
    const said = await until('doctor says it', 60, async () => {
      const findings = JSON.parse(await doctor()) as { what: string; detail: string }[];
      return findings.find(({ what, detail }) => what === 'stream siem' && detail.includes('ECONNREFUSED'));
    });
    // Some entries may already be old enough to count as late.
    expect(said).toMatchObject({ state: expect.stringMatching(/^(?:warn|bad)$/) });
    await rsyslog.start();
    const count = await size();
    await until('everything was received', 90, async () => new Set(numbers()).size >= count);
    const lines = new Map(rsyslog.lines().map((line, at) => [numbers()[at], line]));
    const leaves = await stage.sql<{ index: string; entry_id: string }>('SELECT index, entry_id FROM log_leaf');
    for (const { index, entry_id } of leaves.filter((leaf) => Number(leaf.index) < count))
      expect(lines.get(Number(index))).toContain(entry_id);
  });

  it('reaches an HTTP receiver in order, with the credential in a header', async () => {
    const count = await size();
    const sent = () =>
      lake.received
        .flatMap(({ body }) => body.trimEnd().split('\n'))
        .map((line) => (JSON.parse(line) as { metadata: { sequence: number } }).metadata.sequence);
    await until('everything was received', 60, async () => sent().length >= count);
    expect(sent().slice(0, count)).toEqual(Array.from({ length: count }, (_, number) => number));
    expect(lake.received.every(({ headers }) => headers.authorization === CREDENTIAL)).toBe(true);
  });

  it('contains no control characters and no secrets', () => {
    const text = [...rsyslog.lines(), ...lake.received.map(({ body }) => body.replaceAll('\n', ''))].join('');
    expect(text).toMatch(/^[ -~]*$/);
    expect(text).not.toContain(apiKey);
    expect(text).not.toContain(CREDENTIAL);
  });

  it('has metrics', async () => {
    const { body } = await service.call('GET', '/actuator/prometheus', { key: apiKey });
    expect(body).toMatch(/^sealwright_stream_waiting\{stream="siem"\} \d+$/m);
    expect(body).toMatch(/^sealwright_stream_last_success_seconds\{stream="lake"\} /m);
  });
});
