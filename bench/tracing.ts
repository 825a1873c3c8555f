import { Logger } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Service } from '../test/support/service.js';
import { openStage, type Stage } from '../test/support/stage.js';
import { hammer, middle } from './support/load.js';

/** What tracing takes of synchronous signatures: services without it, with it as it comes, and with every call traced, by turns on the same stores. */
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7);
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 4);
const CONNECTIONS = 128;
/** Of the rate without tracing. */
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

async function measure(): Promise<boolean> {
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}` };
  const services = new Map<string, Service>();
  for (const [name, settings] of Object.entries({
    off: {},
    'as it comes': on,
    'every call': { ...on, OTEL_TRACES_SAMPLER: 'always_on' },
  })) {
    const began = performance.now();
    const service = await stage.start({ role: 'api', settings });
    console.log(`${name.padEnd(14)}ready after ${Math.round(performance.now() - began)} ms`);
    services.set(name, service);
    await load(service, 5);
  }
  const rates = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    // Who goes first finds a colder machine: each does in its turn.
    const turns = [...services];
    for (const [name, service] of [...turns.slice(round % turns.length), ...turns.slice(0, round % turns.length)])
      rates.set(name, [...(rates.get(name) ?? []), await load(service, SECONDS)]);
  }
  const without = rates.get('off') ?? [];
  let isWithin = true;
  for (const [name, these] of rates) {
    const cost = 1 - middle(these.map((rate, round) => rate / (without[round] ?? rate)));
    const verdict = cost <= MAX_COST ? '' : `, more than ${MAX_COST * 100} %`;
    if (name === 'as it comes') isWithin = cost <= MAX_COST;
    console.log(`${name.padEnd(14)}${Math.round(middle(these))}/s  costs ${(cost * 100).toFixed(1)} %${verdict}`);
  }
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
