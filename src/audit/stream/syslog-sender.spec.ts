import 'reflect-metadata';
import { X509CertificateGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readStreamDestinations } from '../../platform/config/stream-destinations.js';
import type { StreamedLeaf } from './formats/streamed-leaf.js';
import { SyslogSender } from './syslog-sender.js';

const PATIENCE = { connectMs: 2000, stallMs: 300 };
const directory = mkdtempSync(join(tmpdir(), 'sealwright-syslog-'));
let server: Server;
let senders: SyslogSender[] = [];
/** Text received on each connection. */
let received: string[] = [];
let sockets: TLSSocket[] = [];
let onConnection: (socket: TLSSocket) => void = () => undefined;
let now = 0;

const leaf = (number: number): StreamedLeaf => ({
  log: 'h/log',
  number,
  kind: 'missing',
  entryId: '',
  entry: undefined,
  record: undefined,
});
const leaves = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => leaf(from + i)) as [StreamedLeaf, ...StreamedLeaf[]];
const numbers = () => [...received.join('').matchAll(/ number="(\d+)"/g)].map(([, number]) => Number(number));
const arrived = async (count: number) => {
  while (numbers().length < count) await sleep(5);
};

function sender(options = '', host = '127.0.0.1'): SyslogSender {
  const line = `siem syslog+tls://${host}:${(server.address() as AddressInfo).port} ca=${join(directory, 'cert.pem')} ${options}`;
  const [destination] = readStreamDestinations([line.trim()]).destinations;
  if (destination === undefined) throw new Error('not a destination');
  const made = new SyslogSender(
    destination,
    'sign.example',
    { addressOf: async () => '127.0.0.1' },
    PATIENCE,
    () => now,
  );
  senders.push(made);
  return made;
}

beforeAll(async () => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=siem',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 3_600_000),
    extensions: [new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  });
  const cert = certificate.toString('pem');
  writeFileSync(join(directory, 'cert.pem'), cert);
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`;
  server = createServer({ cert, key, allowHalfOpen: true }, (socket) => {
    const place = received.push('') - 1;
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received[place] += chunk.toString();
    });
    socket.on('end', () => socket.end());
    onConnection(socket);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const one of senders) one.close();
  for (const socket of sockets) socket.destroy();
  [senders, sockets, received, onConnection, now] = [[], [], [], () => undefined, 0];
});
afterAll(() => {
  server.close();
  rmSync(directory, { recursive: true });
});

describe('syslog over TLS', () => {
  it('acknowledges entries read before the receiver closed, once the new connection outlives the resend time', async () => {
    const stream = sender('resend-seconds=30');
    await stream.send(leaves(7, 10));
    expect(await stream.acknowledged(true)).toBeUndefined();
    now = 3000;
    expect(await stream.acknowledged(true)).toBeUndefined(); // everything was read, and the next connection is open
    expect(numbers()).toEqual([7, 8, 9]);
    now = 32_999;
    expect(await stream.acknowledged(true)).toBeUndefined();
    now = 33_000;
    expect(await stream.acknowledged(true)).toBe(10);
  });

  it('keeps the order across connections', async () => {
    const stream = sender('resend-seconds=0');
    for (const from of [0, 100, 200]) {
      await stream.send(leaves(from, from + 100));
      now += 3000;
      expect(await stream.acknowledged(false)).toBe(from + 100);
    }
    expect(received.length).toBeGreaterThanOrEqual(3);
    expect(numbers()).toEqual(leaves(0, 300).map(({ number }) => number));
  });

  it('keeps no connection open while there is nothing to send', async () => {
    const stream = sender('resend-seconds=0');
    await stream.send(leaves(0, 1));
    now = 3000;
    expect(await stream.acknowledged(true)).toBe(1);
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
    await stream.send(leaves(1, 2));
    await arrived(2);
    expect(numbers()).toEqual([0, 1]);
  });

  it('acknowledges nothing when the receiver closes mid-message', async () => {
    const stream = sender('resend-seconds=0');
    await stream.send(leaves(0, 3));
    await arrived(3);
    sockets[0]?.end();
    await sleep(50);
    now = 3000;
    await expect(stream.acknowledged(false)).rejects.toThrow('the receiver closed the connection');
  });

  it('acknowledges nothing when the receiver ends after reading, possibly before storing', async () => {
    const stream = sender('resend-seconds=30');
    await stream.send(leaves(0, 3));
    now = 3000;
    expect(await stream.acknowledged(true)).toBeUndefined();
    sockets[1]?.destroy();
    await sleep(50);
    now = 60_000;
    await expect(stream.acknowledged(true)).rejects.toThrow(/closed|ECONNRESET|cut/);
  });

  it('drops a receiver that does not read, without buffering unboundedly', async () => {
    onConnection = (socket) => socket.pause();
    const stream = sender();
    const large = leaves(0, 2000);
    await expect(
      (async () => {
        for (;;) await stream.send(large);
      })(),
    ).rejects.toThrow('the receiver stopped reading');
    await expect(stream.send(large)).rejects.toThrow('the receiver stopped reading');
  });

  it('drops a receiver that does not close', async () => {
    onConnection = (socket) => socket.removeAllListeners('end');
    const stream = sender('resend-seconds=0');
    await stream.send(leaves(0, 1));
    now = 3000;
    await expect(stream.acknowledged(true)).rejects.toThrow('the receiver did not close the connection');
  });

  it('sends nothing to a receiver with a different certificate', async () => {
    await expect(sender('', 'siem.example.com').send(leaves(0, 1))).rejects.toThrow(/altnames/i);
    expect(numbers()).toEqual([]);
  });
});
