import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SilenceWatch, type Watched } from './silence-watch.js';

const SILENCE_MS = 50;
const LATER_MS = 300;

/** A server that accepts connections but never responds. */
let server: Server;
let asked: number[];
let isThere: boolean;
let watch: SilenceWatch;
const sockets: Socket[] = [];

beforeEach(async () => {
  server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  asked = [];
  isThere = false;
  watch = new SilenceWatch(async (number) => {
    asked.push(number);
    return isThere;
  }, SILENCE_MS);
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});

async function connection(isBusy: boolean, number = 0): Promise<Watched & { isBusy: boolean }> {
  const stream = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(stream, 'connect');
  sockets.push(stream);
  const watched = { stream, isBusy, cut: () => stream.destroy() };
  watch.watch(watched, number);
  return watched;
}

describe('a server that does not answer a statement', () => {
  it('is probed, and its waiting and idle connections are closed if the probe fails', async () => {
    const [waiting, idle, elsewhere] = [await connection(true), await connection(false), await connection(false, 1)];
    await sleep(LATER_MS);
    expect(asked).toEqual([0]);
    expect([waiting, idle, elsewhere].map(({ stream }) => stream.destroyed)).toEqual([true, true, false]);
  });

  it('keeps its connections while it answers probes, because it may be running a long statement', async () => {
    isThere = true;
    const { stream } = await connection(true);
    await sleep(LATER_MS);
    expect(stream.destroyed).toBe(false);
    expect(asked.length).toBeGreaterThan(1);
    isThere = false;
    await sleep(LATER_MS);
    expect(stream.destroyed).toBe(true);
  });

  it('is not probed while no statement is running, and is once one starts', async () => {
    const idle = await connection(false);
    await sleep(LATER_MS);
    expect(asked).toEqual([]);
    idle.isBusy = true;
    idle.stream.write('a statement');
    await sleep(LATER_MS);
    expect(asked).toEqual([0]);
    expect(idle.stream.destroyed).toBe(true);
  });
});
