import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isOwnPeer } from './loopback-peer.js';

const NOBODY = 65534;
const server = createServer();
let port: number;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

async function accepted(): Promise<Socket> {
  const [socket] = (await once(server, 'connection')) as [Socket];
  return socket;
}

it('a connection of this user is its own', async () => {
  const client = connect(port, '127.0.0.1');
  const socket = await accepted();
  expect(await isOwnPeer(socket)).toBe(true);
  client.destroy();
  socket.destroy();
});

it.runIf(process.platform === 'linux' && process.getuid?.() === 0)('a connection of another user is not', async () => {
  const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; read -r line <&3`;
  const child = spawn('/bin/bash', ['-c', script], { uid: NOBODY, gid: NOBODY, cwd: '/', stdio: 'ignore' });
  const socket = await accepted();
  expect(await isOwnPeer(socket)).toBe(false);
  socket.destroy();
  child.kill();
});
