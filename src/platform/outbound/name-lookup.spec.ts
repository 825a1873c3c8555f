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

it('gives names up whose servers are silent, all at the same time, and delays no other name', async () => {
  const began = performance.now();
  const slow = Array.from({ length: 20 }, (_, i) => found(`tok${i}.silent.example`));
  const refused = Promise.allSettled(slow);
  expect(await found('localhost')).toContainEqual({ address: '127.0.0.1', family: 4 });
  expect(performance.now() - began).toBeLessThan(900);
  for (const one of await refused)
    expect(one).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('did not answer') } });
  expect(performance.now() - began).toBeLessThan(5000);
});

it('reads the hosts file as the system does', () => {
  const hosts =
    '127.0.0.1 localhost\n# 192.0.2.9 idp.example\n192.0.2.1\tIdP.example idp # ours\n::2 idp.example\nx idp.example\n';
  expect(addressesIn(hosts, 'idp.EXAMPLE')).toEqual([
    { address: '192.0.2.1', family: 4 },
    { address: '::2', family: 6 },
  ]);
  expect(addressesIn(hosts, 'example')).toEqual([]);
});
