import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Config } from '../../src/platform/config/config.js';
import { OutboundClient, OutboundRefused } from '../../src/platform/outbound/outbound-client.js';
import { NameServer } from '../fakes/name-server.js';
import { WebReceiver } from '../fakes/web-receiver.js';

/** An allowed address, and a reachable address that is not allowed. */
const GOOD = '127.0.0.1';
const BAD = '127.0.0.2';

const names = new NameServer();
const good = new WebReceiver();
const canary = new WebReceiver();
let client: OutboundClient;
let closed: OutboundClient;

beforeAll(async () => {
  await Promise.all([names.start(), good.start(GOOD)]);
  await canary.start(BAD, good.port);
  client = new OutboundClient(new Config({ SVC_OUTBOUND_ALLOW: GOOD }), names.lookup);
  closed = new OutboundClient(new Config({}));
});
afterAll(async () => {
  names.stop();
  await Promise.all([good.stop(), canary.stop()]);
});
beforeEach(() => {
  good.received.length = 0;
  good.answers(200);
});

const post = (url: string) => client.send({ method: 'POST', url, body: '{}' });
const untouched = () => expect([canary.connections, canary.received]).toEqual([0, []]);

describe('without an allowlist', () => {
  const hosts = [
    '127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '127.0.0.1.',
    '１２７.０.０.１', '①②⑦.⓪.⓪.①', '%31%32%37.0.0.1', 'localhost', 'LOCALHOST', '0.0.0.0', '0', '10.0.0.1',
    '100.100.100.200', '169.254.169.254', '172.31.255.255', '192.168.0.1', '192.0.0.192', '168.63.129.16', '198.18.0.1',
    '224.0.0.1', '255.255.255.255', '[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]',
    '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::1]', '[fd00:ec2::254]', '[fe80::1]', '[ff02::1]',
    '[2001:db8::1]', '[100::1]',
  ]; // prettier-ignore
  it.each(hosts)('https://%s is rejected', async (host) => {
    const url = `https://${host}:${good.port}/`;
    await expect(closed.send({ method: 'POST', url, body: '{}' })).rejects.toThrow(OutboundRefused);
    expect(await closed.refusalOf(url)).toMatch(/the address of the target is not allowed/);
    expect(good.connections).toBe(0);
  });

  it.each([
    'file:///etc/passwd',
    'gopher://198.41.0.4/_x',
    'ftp://198.41.0.4/',
    'javascript:alert(1)',
    'http://198.41.0.4/',
    'https://user@198.41.0.4/',
    'https://user:secret@198.41.0.4/',
    'https://[fe80::1%25eth0]/',
    'https://',
    '//198.41.0.4/',
  ])('%s is rejected before any lookup', async (url) => {
    await expect(closed.send({ method: 'GET', url })).rejects.toThrow(OutboundRefused);
  });

  it('public addresses are allowed', async () => {
    for (const host of ['198.41.0.4', '[2606:4700::1111]', '[2a00:1450::1]', '9.255.255.255', '172.32.0.1']) {
      expect(await closed.refusalOf(`https://${host}/`)).toBeUndefined();
    }
  });
});

describe('a host name', () => {
  it('that resolves to an allowed address is called there', async () => {
    names.says(() => [GOOD]);
    expect(await post(`http://hooks.example:${good.port}/a`)).toMatchObject({ status: 200 });
    expect(good.received[0]).toMatchObject({ path: '/a', body: '{}', headers: { host: `hooks.example:${good.port}` } });
  });

  it('that resolves to a forbidden address is not called', async () => {
    names.says(() => [BAD]);
    await expect(post(`http://hooks.example:${good.port}/`)).rejects.toThrow('not allowed (loopback); to allow it');
    untouched();
  });

  it('that was checked before and now resolves differently is not called', async () => {
    names.says((question) => (question === 0 ? [GOOD] : [BAD]));
    const url = `http://hooks.example:${good.port}/`;
    expect(await client.refusalOf(url)).toBeUndefined();
    await expect(post(url)).rejects.toThrow('the address of the target is not allowed');
    untouched();
  });

  it('is resolved once per call, so that DNS rebinding is impossible', async () => {
    names.says((question) => (question === 0 ? [GOOD] : [BAD]));
    await post(`http://hooks.example:${good.port}/`);
    expect(names.asked).toEqual(['hooks.example']);
    expect(good.received).toHaveLength(1);
    untouched();
  });

  it('with one forbidden address among several is not called', async () => {
    names.says(() => [GOOD, BAD]);
    await expect(post(`http://hooks.example:${good.port}/`)).rejects.toThrow(
      'the address of the target is not allowed',
    );
    names.says(() => [BAD, GOOD]);
    await expect(post(`http://hooks.example:${good.port}/`)).rejects.toThrow(
      'the address of the target is not allowed',
    );
    untouched();
  });
});

describe('an outbound response', () => {
  it('with a redirect is returned without following it', async () => {
    names.says(() => [GOOD]);
    for (const status of [301, 302, 303, 307, 308]) {
      good.reacts((response) => response.writeHead(status, { location: `http://${BAD}:${good.port}/` }).end());
      expect((await post(`http://hooks.example:${good.port}/`)).status).toBe(status);
    }
    untouched();
  });

  it('of unlimited size is read up to 64 kB', async () => {
    good.reacts((response) => {
      const more = () => {
        while (response.write('x'.repeat(8192)));
        response.once('drain', more);
      };
      more();
    });
    const { body } = await post(`http://${GOOD}:${good.port}/`);
    expect(body).toHaveLength(65_536);
  });

  it('that never arrives times out', async () => {
    good.reacts((response) => response.flushHeaders());
    const began = performance.now();
    const call = client.send({ method: 'POST', url: `http://${GOOD}:${good.port}/`, timeoutMs: 300 });
    await expect(call).rejects.toThrow('did not respond in time');
    expect(performance.now() - began).toBeLessThan(5000);
  });

  it('with unlimited headers is rejected', async () => {
    good.reacts((response) => response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end());
    await expect(post(`http://${GOOD}:${good.port}/`)).rejects.toThrow(/header/i);
  });
});
