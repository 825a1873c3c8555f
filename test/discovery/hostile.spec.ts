import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newClientKey } from '../support/sshd.js';
import type { Answer, Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { acceptFirstSuite, answerTooShort, flood, floodPackets, lie } from './misbehaviour.js';

const MIB = 1024 ** 2;

/** Each scan covers eight hosts that misbehave in different ways, and must end with a clear outcome for each host. */
describe('a scan of malicious hosts', () => {
  let stage: Stage;
  let service: Service;
  let apiKey: string;
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-hostile-'));
  const servers: Server[] = [];
  const floods: Promise<number>[] = [];

  beforeAll(async () => {
    stage = await openStage();
    ({ apiKey } = await stage.seed());
    service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes' } });
  });
  afterAll(async () => {
    await stage.close();
    for (const server of servers) server.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const ask = async (method: string, path: string, body?: unknown): Promise<Answer['body']> => {
    const answer = await service.call(method, path, { key: apiKey, body });
    expect(answer.status).toBeLessThan(300);
    return answer.body;
  };

  /** Starts a server that listens on all loopback addresses and behaves according to the last octet of the called address. Returns the port. */
  async function everywhere(acts: readonly ((socket: Socket) => unknown)[]): Promise<number> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      acts[Number(socket.localAddress?.split('.').at(-1))]?.(socket);
    });
    servers.push(server);
    server.listen(0, '0.0.0.0');
    await once(server, 'listening');
    return (server.address() as { port: number }).port;
  }

  /** Scans a network and returns the outcome of each address. */
  async function outcomes(kind: string, network: string, acts: readonly ((socket: Socket) => unknown)[]) {
    const port = await everywhere(acts);
    const scope = await ask('POST', '/v1/scan-scopes', { name: network, networks: [network], ports: [port] });
    const { id } = await ask('POST', '/v1/scans', { kind, scopeId: scope.id });
    const scan = await until('the end of the scan', 50, async () => {
      const body = await ask('GET', `/v1/scans/${id}`);
      return ['DONE', 'FAILED', 'CANCELLED'].includes(body.status) && body;
    });
    expect(scan).toMatchObject({ status: 'DONE', attempts: 1 });
    const { items } = await ask('GET', `/v1/scans/${id}/results?limit=200`);
    const found = items as { address: string; outcome: string; facts: Record<string, unknown> }[];
    return found.toSorted((a, b) => Number(a.address.split('.')[3]) - Number(b.address.split('.')[3]));
  }

  it('finishes over SSH', async () => {
    const { publicKey } = newClientKey(directory, 'somebody');
    const results = await outcomes('ssh-network', '127.33.0.0/29', [
      () => undefined,
      (socket) => floods.push(flood(socket, Buffer.alloc(MIB, 97))),
      (socket) => socket.destroy(),
      (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
      (socket) => lie(socket, { key: Buffer.from(publicKey.split(' ')[1] ?? '', 'base64') }),
      (socket) => floods.push(floodPackets(socket)),
      (socket) => void setInterval(() => socket.write('S'), 500).unref(),
      (socket) => socket.write('SSH-2.0-x\r\n\xff\xff\xff\xff\xff\xff'),
    ]);
    expect(results.map(({ outcome }) => outcome)).toEqual([
      'TIMEOUT',
      'FLOOD',
      'THROTTLED',
      'HUNG_UP',
      'FOUND',
      'FLOOD',
      'TIMEOUT',
      'NOT_THE_PROTOCOL',
    ]);
    expect(results[4]?.facts).toMatchObject({
      hostKeys: [{ publicKey: publicKey.split(' ').slice(0, 2).join(' '), possession: 'claimed' }],
    });
    // The servers could send only as much data as the socket buffers hold, instead of 1 GiB.
    for (const sent of await Promise.all(floods)) expect(sent).toBeLessThan(16 * MIB);
  });

  it('finishes over TLS', async () => {
    const results = await outcomes('tls-network', '127.34.0.0/29', [
      () => undefined,
      (socket) => flood(socket, Buffer.alloc(MIB, 22)),
      (socket) => socket.destroy(),
      (socket) => socket.end('220 mail.example.com ESMTP\r\n'),
      answerTooShort,
      (socket) => void setInterval(() => socket.write('\x16'), 500).unref(),
      (socket) => socket.once('data', (hello) => acceptFirstSuite(socket, hello)),
      (socket) => socket.once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, 40]))),
    ]);
    expect(results.map(({ outcome }) => outcome)).toEqual([
      'TIMEOUT',
      'NOT_THE_PROTOCOL',
      'NOT_THE_PROTOCOL',
      'NOT_THE_PROTOCOL',
      'NOT_THE_PROTOCOL',
      'TIMEOUT',
      'FOUND',
      'NOT_THE_PROTOCOL',
    ]);
    // The server accepted a cipher suite but did not complete the handshake.
    expect(results[6]?.facts).toMatchObject({ chain: [], agreed: null });
  });

  it('finishes with login: each host has a clear result, and none is logged in to', async () => {
    const { publicKey, privateKey } = newClientKey(directory, 'login');
    const port = await everywhere([
      () => undefined,
      (socket) => floods.push(flood(socket, Buffer.alloc(MIB, 97))),
      (socket) => socket.destroy(),
      (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
      (socket) => lie(socket, { key: Buffer.from(publicKey.split(' ')[1] ?? '', 'base64') }),
    ]);
    const tested = [0, 1, 2, 3, 4].map(async (i) => {
      const place = { name: `hostile-${i}`, address: `127.35.0.${i}`, port };
      const { id } = await ask('POST', '/v1/hosts', { ...place, credential: { user: 'root', privateKey } });
      await ask('POST', `/v1/hosts/${id}/host-keys`, { publicKey });
      const { ok, code } = await ask('POST', `/v1/hosts/${id}/test-connection`);
      const { items } = await ask('GET', `/v1/hosts/${id}/host-keys`);
      return { ok, code, possession: items[0].possession };
    });
    const code = expect.stringMatching(/^host\.(timeout|not-ssh|throttled|lost)$/);
    for (const result of await Promise.all(tested)) expect(result).toEqual({ ok: false, code, possession: 'claimed' });
    for (const sent of await Promise.all(floods)) expect(sent).toBeLessThan(16 * MIB);
  });
});
