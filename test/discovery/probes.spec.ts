import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { BoundedStream } from '../../src/discovery/probing/bounded-stream.js';
import { probeSsh } from '../../src/discovery/ssh/ssh-probe.js';
import { readKexInit, writeKexInit } from '../../src/discovery/ssh/ssh-wire.js';
import { wireString } from '../../src/formats/ssh/wire.js';
import { CLIENT_CIPHERS } from '../../src/platform/outbound/tls-ciphers.js';
import { probeTls } from '../../src/discovery/tls/tls-probe.js';
import { sshFingerprintOf } from '../../src/formats/ssh/public-key.js';
import { canRunSshd, fingerprintOfLine, type Sshd, startSshd } from '../support/sshd.js';
import { acceptFirstSuite, flood, floodPackets, lie } from './misbehaviour.js';

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

describe.runIf(canRunSshd())('the SSH probe of a real sshd', () => {
  const kex = [
    'curve25519-sha256',
    'sntrup761x25519-sha512@openssh.com',
    'ecdh-sha2-nistp384',
    'diffie-hellman-group16-sha512',
  ];
  let sshd: Sshd;
  beforeAll(async () => {
    sshd = await startSshd({
      hostKeys: ['ed25519', 'ecdsa', 'rsa'],
      config: ['Ciphers aes256-ctr,aes128-gcm@openssh.com'],
    });
  });
  afterAll(() => sshd.close());

  const effective = (): Map<string, string[]> => {
    const text = sshd.inside('/usr/sbin/sshd', '-T', '-f', join(sshd.directory, 'sshd_config'));
    return new Map(text.split('\n').map((line) => [line.split(' ')[0] ?? '', (line.split(' ')[1] ?? '').split(',')]));
  };

  it('returns the lists of `sshd -T` and the keys of `ssh-keygen -lf`, each proven, in three connections', async () => {
    const before = sshd.log().length;
    const facts = await probeSsh(sshd.address, sshd.port);
    const told = effective();
    const extensions = (names: string[]) => names.filter((name) => !/^(kex-strict|ext-info)/.test(name));
    expect(extensions(facts.algorithms.kex)).toEqual(told.get('kexalgorithms'));
    expect(facts.algorithms.ciphersIn).toEqual(told.get('ciphers'));
    expect(facts.algorithms.ciphersOut).toEqual(told.get('ciphers'));
    expect(facts.algorithms.macsIn).toEqual(told.get('macs'));
    expect(facts.algorithms.macsOut).toEqual(told.get('macs'));
    const held = /^(ssh-ed25519|ecdsa-sha2-nistp256|rsa-sha2-(256|512))$/; // signature algorithms of the server's host keys
    expect(facts.algorithms.hostKey.toSorted()).toEqual(
      told
        .get('hostkeyalgorithms')
        ?.filter((name) => held.test(name))
        .toSorted(),
    );
    expect([facts.algorithms.compressionIn, told.get('compression')]).toEqual([['none', 'zlib@openssh.com'], ['yes']]);
    const keys = facts.hostKeys.map(({ blob, proven }) => ({ fingerprint: sshFingerprintOf(blob), proven }));
    const expected = (['ed25519', 'ecdsa', 'rsa'] as const).map((kind) => fingerprintOfLine(sshd.hostKey(kind)));
    expect(keys).toEqual(expected.map((fingerprint) => ({ fingerprint, proven: true })));
    expect(facts.postQuantum).toContain('sntrup761x25519-sha512@openssh.com');
    expect(facts.unread).toEqual([]);
    expect(
      sshd
        .log()
        .slice(before)
        .match(/Connection from/g),
    ).toHaveLength(3);
  });

  it.each(kex.filter((name) => !name.startsWith('sntrup')))('proves the key over %s', async (name) => {
    const one = await startSshd({ config: [`KexAlgorithms ${name}`] });
    try {
      const facts = await probeSsh(one.address, one.port);
      expect(facts.hostKeys).toMatchObject([{ proven: true, kex: name }]);
    } finally {
      await one.close();
    }
  });

  it('proves the keys of a server that is post-quantum only', async () => {
    const only = 'sntrup761x25519-sha512@openssh.com';
    const one = await startSshd({ hostKeys: ['ed25519', 'rsa'], config: [`KexAlgorithms ${only}`] });
    try {
      const facts = await probeSsh(one.address, one.port);
      const keys = facts.hostKeys.map(({ blob, proven, kex: over }) => [sshFingerprintOf(blob), proven, over]);
      const expected = (['ed25519', 'rsa'] as const).map((kind) => fingerprintOfLine(one.hostKey(kind)));
      expect(keys).toEqual(expected.map((fingerprint) => [fingerprint, true, only]));
      expect(facts).toMatchObject({ postQuantum: [only], unread: [] });
    } finally {
      await one.close();
    }
  });

  it('rejects a server that shows the key of another one', async () => {
    const blob = Buffer.from(sshd.hostKey('ed25519').split(' ')[1] ?? '', 'base64');
    const liar = createServer((socket) => lie(socket, { key: blob }));
    const port = await listen(liar);
    const facts = await probeSsh('127.0.0.1', port);
    expect(facts.hostKeys).toMatchObject([{ proven: false }]);
    liar.close();
  });
});

describe('the SSH probe of a misbehaving server', () => {
  const servers: Server[] = [];
  afterAll(() => servers.forEach((server) => server.close()));
  const behave = async (act: (socket: Socket) => void): Promise<number> => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      act(socket);
    });
    servers.push(server);
    return await listen(server);
  };
  it.each<[string, (socket: Socket) => void, string]>([
    ['sends a banner without end', (socket) => flood(socket, Buffer.alloc(65_536, 97)), 'flood'],
    ['sends lines without end', (socket) => flood(socket, Buffer.from('hello\r\n'.repeat(9000))), 'malformed'],
    ['shows a key that nobody asked for', (socket) => lie(socket, { key: wireString('\0') }), 'malformed'],
    ['hangs up at once', (socket) => socket.destroy(), 'throttled'],
    ['speaks HTTP', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), 'hung-up'],
    ['sends packets without end', (socket) => floodPackets(socket), 'flood'],
    ['sends a packet that is none', (socket) => socket.write('SSH-2.0-x\r\n\xff\xff\xff\xff\xff\xff'), 'malformed'],
  ])('that %s returns a clear result: %s', async (_, act, code) => {
    await expect(probeSsh('127.0.0.1', await behave(act))).rejects.toMatchObject({ code });
  });

  it('that sends nothing is aborted after ten seconds', async () => {
    const start = performance.now();
    await expect(probeSsh('127.0.0.1', await behave(() => undefined))).rejects.toMatchObject({ code: 'timeout' });
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  it('that does not listen returns closed', async () => {
    await expect(probeSsh('127.0.0.1', 1)).rejects.toMatchObject({ code: 'closed' });
  });

  it('parses algorithm lists as they were written', () => {
    const lists = readKexInit(
      writeKexInit({ ...readKexInit(Buffer.concat([Buffer.from([20]), Buffer.alloc(61)])), kex: ['a', 'b'] }),
    );
    expect(lists).toMatchObject({ kex: ['a', 'b'], hostKey: [], ciphersIn: [] });
  });
});

describe('the TLS probe', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-tls-'));
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  beforeAll(() => {
    const subject = ['-subj', '/CN=scan.example.com', '-days', '10', '-nodes', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...subject], { stdio: 'ignore' });
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const der = (): Buffer => execFileSync('openssl', ['x509', '-in', cert, '-outform', 'DER']);

  async function withOpenssl<Result>(args: string[], use: (port: number) => Promise<Result>): Promise<Result> {
    const probe = createServer();
    const port = await listen(probe);
    probe.close();
    const server = spawn(
      'openssl',
      ['s_server', '-key', key, '-cert', cert, '-port', String(port), '-quiet', ...args],
      { stdio: 'ignore' },
    );
    try {
      for (let i = 0; i < 600; i += 1) {
        const up = await BoundedStream.open('127.0.0.1', port, { connectMs: 500, totalMs: 500, maxBytes: 10 }).then(
          (stream) => (stream.close(), true),
          () => false,
        );
        if (up) break;
        await sleep(50);
      }
      return await use(port);
    } finally {
      server.kill('SIGKILL');
    }
  }

  it('finds the openssl s_server configuration: TLS 1.2 with two suites and one curve', async () => {
    const args = [
      '-no_tls1_3',
      '-min_protocol',
      'TLSv1.2',
      '-cipher',
      'ECDHE-RSA-AES256-GCM-SHA384:AES128-SHA256',
      '-groups',
      'P-384',
    ];
    const facts = await withOpenssl(args, (port) => probeTls('127.0.0.1', port, 'scan.example.com'));
    expect(facts.versions).toEqual(['TLS 1.2']);
    expect(facts.suites['TLS 1.2']?.sort()).toEqual([
      'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
      'TLS_RSA_WITH_AES_128_CBC_SHA256',
    ]);
    expect(facts.groups).toEqual(['secp384r1']);
    expect(facts.chain).toEqual([der()]);
    expect(facts.distrust).toMatch(/SELF_SIGNED/);
  });

  it('finds the openssl s_server configuration: everything from TLS 1.0', async () => {
    const args = [
      '-min_protocol',
      'TLSv1',
      '-cipher',
      'AES128-SHA@SECLEVEL=0',
      '-ciphersuites',
      'TLS_AES_128_GCM_SHA256',
      '-groups',
      'X25519:P-256',
    ];
    const facts = await withOpenssl(args, (port) => probeTls('127.0.0.1', port));
    expect(facts.suites).toEqual({
      'TLS 1.0': ['TLS_RSA_WITH_AES_128_CBC_SHA'],
      'TLS 1.1': ['TLS_RSA_WITH_AES_128_CBC_SHA'],
      'TLS 1.2': ['TLS_RSA_WITH_AES_128_CBC_SHA'],
      'TLS 1.3': ['TLS_AES_128_GCM_SHA256'],
    });
    expect(facts.groups.sort()).toEqual(['secp256r1', 'x25519']);
  });

  it.each([
    ['SecP384r1MLKEM1024', ['SecP384r1MLKEM1024']],
    ['X25519MLKEM768:X25519', ['X25519MLKEM768', 'x25519']],
  ])('finds the groups and the chain of a server with %s', async (ecdhCurve, groups) => {
    const server = createTlsServer({
      key: readFileSync(key),
      cert: readFileSync(cert),
      ecdhCurve,
      minVersion: 'TLSv1.3',
    });
    server.on('tlsClientError', () => undefined);
    const port = await listen(server);
    const facts = await probeTls('127.0.0.1', port);
    expect(facts.groups.sort()).toEqual([...groups].sort());
    expect(facts.postQuantum).toEqual([groups[0]]);
    expect(facts).toMatchObject({ versions: ['TLS 1.3'], chain: [der()] });
    server.close();
  });

  it('never takes part in a key exchange whose cost the server chooses, like every TLS client of the service', async () => {
    const args = ['-no_tls1_3', '-cipher', 'DHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0'];
    await withOpenssl(args, async (port) => {
      const facts = await probeTls('127.0.0.1', port);
      expect(facts.suites['TLS 1.2']).toEqual(['TLS_DHE_RSA_WITH_AES_128_GCM_SHA256']);
      expect(facts).toMatchObject({ chain: [], agreed: null });
      const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ciphers: CLIENT_CIPHERS });
      const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
      expect(error.code).toBe('ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE');
    });
  });

  it('has an overall time limit when a server delays every response', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (hello) => {
        vi.advanceTimersByTime(5000);
        acceptFirstSuite(socket, hello);
      });
    });
    const port = await listen(server);
    await expect(probeTls('127.0.0.1', port)).rejects.toMatchObject({ code: 'timeout' });
    server.close();
  });

  it('returns malformed for a service other than TLS', async () => {
    const server = createServer((socket) => void socket.end('220 mail.example.com ESMTP\r\n'));
    const port = await listen(server);
    await expect(probeTls('127.0.0.1', port)).rejects.toMatchObject({ code: 'malformed' });
    server.close();
  });
});
