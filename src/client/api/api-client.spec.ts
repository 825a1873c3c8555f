import { getEventListeners, once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiClient } from './api-client.js';
import { EXIT } from './exit-codes.js';
import { readEnvironment } from './transport.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** Starts a server that returns these responses in order. The last response is repeated. */
async function serving(...answers: RequestListener[]) {
  const sockets = new Set<Socket>();
  const bodies: string[] = [];
  let calls = 0;
  const server = createServer((request, response) => {
    sockets.add(request.socket);
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      bodies.push(body);
      answers[Math.min(calls++, answers.length - 1)]?.(request, response);
    });
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api = await ApiClient.open({ ...readEnvironment(), token: 'secret' }, url);
  return { api, bodies, sockets, calls: () => calls };
}

const json =
  (status: number, body: object, headers = {}): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

describe('an API call', () => {
  it('sends the credential and JSON, and resolves with the JSON response', async () => {
    const { api, bodies } = await serving((request, response) =>
      json(200, { method: request.method, authorization: request.headers.authorization })(request, response),
    );
    expect(await api.call('POST', '/a', { body: { text: 'ä' } })).toEqual({
      method: 'POST',
      authorization: 'Bearer secret',
    });
    expect(bodies).toEqual(['{"text":"ä"}']);
  });

  it('reuses the connection of an earlier call', async () => {
    const { api, sockets } = await serving(json(200, {}), json(422, {}), json(200, {}));
    await api.call('POST', '/a', { body: {} });
    await api.call('POST', '/a', { body: {} }).catch(() => undefined);
    await api.call('GET', '/a');
    expect(sockets.size).toBe(1);
  });

  it('is retried while the service is busy, if it is repeatable', async () => {
    const { api, calls } = await serving(json(503, {}, { 'retry-after': '0' }), json(200, { done: true }));
    expect(await api.call('POST', '/a', { body: {}, repeatable: true })).toEqual({ done: true });
    expect(calls()).toBe(2);
  });

  it('is not retried if it is not repeatable', async () => {
    const { api, calls } = await serving(json(503, { code: 'busy', detail: 'Not now.' }), json(200, {}));
    await expect(api.call('POST', '/a', { body: {} })).rejects.toMatchObject({
      message: 'Not now. [busy]',
      status: 503,
    });
    expect(calls()).toBe(1);
  });

  it('does not follow redirects, which would disclose the credential', async () => {
    const { api, calls } = await serving(json(302, {}, { location: '/elsewhere' }), json(200, {}));
    await expect(api.call('GET', '/a')).rejects.toMatchObject({ message: 'Found [HTTP 302]', exitCode: EXIT.failed });
    expect(calls()).toBe(1);
  });

  it('fails when the response is truncated', async () => {
    const { api } = await serving((_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{"a":', () => response.destroy());
    });
    await expect(api.call('GET', '/a')).rejects.toThrow('aborted');
  });

  it('times out', async () => {
    const { api } = await serving(() => undefined);
    await expect(api.call('POST', '/a', { body: {}, limitMs: 50 })).rejects.toThrow(/does not respond: .*timed out/);
  });

  it('is aborted when the caller cancels', async () => {
    const { api } = await serving(() => undefined);
    const program = new AbortController();
    const call = api.call('GET', '/a', { signal: program.signal });
    program.abort(new Error('the program is gone'));
    await expect(call).rejects.toThrow('the program is gone');
  });

  it('is not sent when the caller has already cancelled', async () => {
    const { api, calls } = await serving(json(200, {}));
    const program = AbortSignal.abort(new Error('the program is gone'));
    await expect(api.call('GET', '/a', { signal: program })).rejects.toThrow('the program is gone');
    expect(calls()).toBe(0);
  });

  it('times out when the response body does not end', async () => {
    const { api } = await serving((_request, response) => void response.writeHead(200).write('{"a":'));
    await expect(api.call('GET', '/a', { limitMs: 50 })).rejects.toThrow('aborted');
  });

  it('leaves no abort listeners after many calls with one signal', async () => {
    const { api } = await serving(json(200, {}));
    const program = new AbortController();
    for (let turn = 0; turn < 3; turn += 1) await api.call('GET', '/a', { signal: program.signal });
    await vi.waitFor(() => expect(getEventListeners(program.signal, 'abort')).toEqual([]));
  });

  it('supports a service under a proxy path and at an IPv6 address', async () => {
    const server = createServer((request, response) => void response.end(JSON.stringify(request.url)));
    servers.push(server.listen(0, '::1'));
    await once(server, 'listening');
    const url = `http://[::1]:${(server.address() as AddressInfo).port}/signing/`;
    const api = await ApiClient.open({ ...readEnvironment(), token: 'secret' }, url);
    expect(await api.call('GET', '/api/v1/a?b=c')).toBe('/signing/api/v1/a?b=c');
  });

  it('reports why there was no response', async () => {
    const api = await ApiClient.open({ ...readEnvironment(), token: 'secret' }, 'http://127.0.0.1:1');
    await expect(api.call('POST', '/a', { body: {} })).rejects.toThrow(/does not respond: .*ECONNREFUSED/);
  });
});
