import { Logger } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { cpuMsOf } from './support/cpu-meter.js';
import { hammer, middle } from './support/load.js';

/**
 * Measures the cost of tracing for synchronous signatures. Services without tracing, with default sampling, and with every call traced take turns on the same
 * stores. The verdict is based on the CPU time per signature, because the rate varies with other load on the machine.
 */
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4);
const CONNECTIONS = 128;
/** Maximum additional CPU time, as a fraction of the CPU time without tracing. */
const MAX_COST = 0.03;

let stage: Stage;
let apiKey: string;
let received = 0;

const collector = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => (received += chunk.length));
  request.on('end', () => response.end('{}'));
});

const load = (service: Service, seconds: number) =>
  hammer({
    url: `${service.url}/api/v1/sign/digest`,
    seconds,
    connections: CONNECTIONS,
    key: apiKey,
    body: () => ({ digest: createHash('sha256').update(randomBytes(16)).digest('base64'), key: 'default' }),
  });

interface Turn {
  readonly rate: number;
  /** CPU time of the service per signature in milliseconds. */
  readonly cpuMs: number;
}

async function turn(service: Service): Promise<Turn> {
  const before = cpuMsOf(service.pid);
  const rate = await load(service, SECONDS);
  return { rate, cpuMs: (cpuMsOf(service.pid) - before) / (rate * SECONDS) };
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

async function measure(): Promise<boolean> {
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}` };
  const services = new Map<string, Service>();
  for (const [name, settings] of Object.entries({
    off: {},
    'as it comes': on,
    'every call': { ...on, OTEL_TRACES_SAMPLER: 'always_on' },
    // A second service without tracing shows the variation between identical processes.
    'off again': {},
  })) {
    const began = performance.now();
    const service = await stage.start({ role: 'api', settings });
    console.log(`${name.padEnd(14)}ready after ${Math.round(performance.now() - began)} ms`);
    services.set(name, service);
    await load(service, 5);
  }
  const turns = new Map<string, Turn[]>([...services.keys()].map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    // The first service measured in a round has colder caches, so the order rotates.
    const order = [...services];
    for (const [name, service] of [...order.slice(round % order.length), ...order.slice(0, round % order.length)])
      turns.get(name)?.push(await turn(service));
  }
  const without = turns.get('off') ?? [];
  const more = (these: readonly Turn[], of: keyof Turn) =>
    middle(these.map((one, round) => one[of] / (without[round]?.[of] ?? one[of]))) - 1;
  for (const [name, these] of turns) {
    const [cpu, rate] = [middle(these.map(({ cpuMs }) => cpuMs)), middle(these.map((one) => one.rate))];
    console.log(`${name.padEnd(14)}${cpu.toFixed(2)} ms CPU, ${percent(more(these, 'cpuMs'))} more; ${Math.round(rate)}/s, ${percent(-more(these, 'rate'))} less`); // prettier-ignore
  }
  const cost = more(turns.get('as it comes') ?? [], 'cpuMs');
  const difference = Math.abs(more(turns.get('off again') ?? [], 'cpuMs'));
  const isWithin = cost <= MAX_COST && difference <= MAX_COST;
  if (difference > MAX_COST)
    console.log('Two processes without tracing differ by more: this machine is too busy to tell.');
  else if (!isWithin) console.log(`As it comes tracing costs more than ${percent(MAX_COST)}.`);
  console.log(`the collector got ${Math.round(received / 1024)} kB`);
  return isWithin;
}

Logger.overrideLogger(false);
collector.listen(0, '127.0.0.1');
await once(collector, 'listening');
stage = await openStage();
try {
  ({ apiKey } = await stage.seed());
  process.exitCode = (await measure()) ? 0 : 1;
} finally {
  await stage.close();
  collector.close();
}
