import { createSocket, type Socket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addressesIn, nameLookup, type NameLookup } from './name-lookup.js';

/** A name server that never responds. */
let silent: Socket;
let lookup: NameLookup;

beforeAll(async () => {
  silent = createSocket('udp4').bind(0, '127.0.0.1');
  await once(silent, 'listening');
  lookup = nameLookup({ servers: [`127.0.0.1:${silent.address().port}`], timeoutMs: 1000 });
});
afterAll(() => {
  silent.close();
});

const found = (name: string) =>
  new Promise<LookupAddress[]>((resolve, reject) =>
    lookup(name, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error))),
  );

it('names with unresponsive servers fail concurrently, without delaying other names', async () => {
  const began = performance.now();
  const slow = Array.from({ length: 20 }, (_, i) => found(`tok${i}.silent.example`));
  const refused = Promise.allSettled(slow);
  expect(await found('localhost')).toContainEqual({ address: '127.0.0.1', family: 4 });
  expect(performance.now() - began).toBeLessThan(900);
  for (const one of await refused)
    expect(one).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('did not respond') } });
  expect(performance.now() - began).toBeLessThan(5000);
});

it('gives up names that the system resolves as well, and does not begin names whose time is over', async () => {
  const begun: string[] = [];
  const system = (name: string) => {
    begun.push(name);
    return new Promise<never>(() => undefined);
  };
  // No name server listens at this address, so the query fails immediately.
  const names = nameLookup({ servers: ['127.0.0.1:1'], timeoutMs: 500, system });
  const lookups = ['one', 'two', 'three'].map(
    (name) => new Promise((resolve) => names(name, { all: true }, (error) => resolve(error?.message))),
  );
  for (const message of await Promise.all(lookups)) expect(message).toContain('did not respond within 0.5 seconds');
  expect(begun.length).toBeLessThanOrEqual(1);
});

it('the hosts file is read as the system reads it', () => {
  const hosts =
    '127.0.0.1 localhost\n# 192.0.2.9 idp.example\n192.0.2.1\tIdP.example idp # ours\n::2 idp.example\nx idp.example\n';
  expect(addressesIn(hosts, 'idp.EXAMPLE')).toEqual([
    { address: '192.0.2.1', family: 4 },
    { address: '::2', family: 6 },
  ]);
  expect(addressesIn(hosts, 'example')).toEqual([]);
});
