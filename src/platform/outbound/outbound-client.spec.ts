import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Config } from '../config/config.js';
import { OutboundClient } from './outbound-client.js';

const INTERIM = 'HTTP/1.1 103 Early Hints\r\n\r\n';
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
let server: Server;
let url: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (request) => {
      if (request.toString().startsWith('GET /101')) {
        sockets.push(socket);
        return void socket.write(SWITCH);
      }
      const count = Number(/^GET \/(\d+)/.exec(request.toString())?.[1]);
      socket.end(`${INTERIM.repeat(count)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
});
afterAll(() => {
  server.close();
});

it('accepts a few interim responses, and refuses a target that sends many', async () => {
  const client = new OutboundClient(new Config({ SVC_OUTBOUND_ALLOW: '127.0.0.1' }));
  expect(await client.send({ method: 'GET', url: `${url}/3` })).toMatchObject({ status: 200, body: 'ok' });
  await expect(client.send({ method: 'GET', url: `${url}/1000` })).rejects.toThrow('too many interim responses');
});

it('closes the connection of a target that switches protocols, and survives its reset', async () => {
  const client = new OutboundClient(new Config({ SVC_OUTBOUND_ALLOW: '127.0.0.1' }));
  const calls = [1, 2].map(() => client.send({ method: 'GET', url: `${url}/101` }));
  const failures = (await Promise.allSettled(calls)).map((call) => (call as PromiseRejectedResult).reason as Error);
  expect(failures.map(({ message }) => message)).toEqual(
    calls.map(() => 'the target responded with 101 Switching Protocols'),
  );
  const [first, second] = sockets as [Socket, Socket];
  first.resetAndDestroy();
  second.resume();
  if (!second.readableEnded) await once(second, 'end');
});
