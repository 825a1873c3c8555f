import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { ApiClient } from '../../api/api-client.js';
import { readEnvironment } from '../../api/transport.js';
import { RemoteSigner, type SignatureOrder } from './remote-signer.js';

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = {
  id: randomUUID(),
  name: 'release',
  version: 1,
  type: 'ec-p256',
  purpose: 'code-signing',
  publicKey: publicKey.export({ type: 'spki', format: 'der' }),
  chain: [],
};
const signature = Buffer.alloc(64, 1);

let server: Server | undefined;
afterEach(() => server?.close().closeAllConnections());

/** Starts a service on a local port that signs immediately and records the idempotency keys of its requests. */
async function serving(port = 0): Promise<{ port: number; names: string[] }> {
  const names: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await text(request);
    names.push(String(request.headers['idempotency-key']));
    const signed = { requestId: randomUUID(), status: 'SIGNED', signature: signature.toString('base64'), key };
    response.end(JSON.stringify(signed));
  };
  server = createServer((request, response) => void answer(request, response)).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, names };
}

async function signer(port: number): Promise<{ signer: RemoteSigner; notes: string[] }> {
  const notes: string[] = [];
  const api = await ApiClient.open({ ...readEnvironment(), token: 'secret' }, `http://127.0.0.1:${port}`);
  const note = (line: string): void => void notes.push(line);
  return { signer: new RemoteSigner(api, { protocol: 'pkcs11', asking: {}, note }), notes };
}

const order = (signal: AbortSignal): SignatureOrder => ({
  key,
  digest: randomBytes(32),
  algorithm: 'sha256',
  scheme: 'ecdsa-raw',
  purpose: 'code-signing',
  signal,
});

it('a request is signed once a restarted service is back, with the delay explained on the terminal', async () => {
  const { port } = await serving();
  server?.close().closeAllConnections();
  const { signer: remote, notes } = await signer(port);
  const result = remote.sign(order(new AbortController().signal));
  await expect.poll(() => notes, { timeout: 20_000 }).toContainEqual(expect.stringContaining('retrying'));
  const { names } = await serving(port);
  expect(await result).toMatchObject({ kind: 'signed', signature });
  expect(names).toHaveLength(1);
});

it('a program that exited in the meantime receives nothing', async () => {
  const { port } = await serving();
  server?.close().closeAllConnections();
  const { signer: remote } = await signer(port);
  const program = new AbortController();
  const result = remote.sign(order(program.signal));
  program.abort(new Error('the program is gone'));
  expect(await result).toMatchObject({ kind: 'withdrawn' });
});
