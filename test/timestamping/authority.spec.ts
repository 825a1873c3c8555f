import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../support/access.js';
import { Authority } from '../support/authority.js';
import { certifiedKey } from '../support/certified-keys.js';
import { has } from '../support/peers.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { timeServer } from '../support/time-server.js';
import { serialsOf, signedDataOf, TIMESTAMP_QUERY, TimestampClient } from '../support/timestamps.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let authority: Authority;
let file: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  authority = new Authority();
  file = authority.keep('released.bin', 'A file that was released.');
});
afterAll(async () => {
  authority.remove();
  await stage.close();
});

const rejections = (): Promise<{ failure: string }[]> =>
  stage.sql(`SELECT detail ->> 'failure' AS failure FROM audit_entry WHERE action = 'timestamp.refused' ORDER BY id`);

it('a timestamp query reports that no authority is set up', async () => {
  const client = new TimestampClient(service, apiKey, authority);
  const { status, reply } = client.curl(client.query(file));
  expect(status).toBe(200);
  expect(client.text(reply)).toMatch(/Status: Rejected\.[\s\S]*not configured[\s\S]*Failure info: .*system/i);
});

// P-256 is tested separately below.
describe.each(['rsa-2048', 'ec-p384', 'ec-p521'])('a timestamp authority with %s', (type) => {
  let client: TimestampClient;

  beforeAll(async () => {
    await certifiedKey(service, apiKey, authority, { name: `tsa-${type}`, type, purpose: 'timestamping' });
    const own = await stage.start({ role: 'api', settings: { SVC_TSA_KEY: `tsa-${type}` } });
    client = new TimestampClient(own, apiKey, authority);
  });

  it.each([
    ['sha256', ['-sha256', '-cert'], false],
    ['sha384', ['-sha384', '-cert'], false],
    ['sha512 without nonce', ['-sha512', '-cert', '-no_nonce'], false],
    ['without certificates', ['-sha256'], true],
  ])('%s: openssl verifies this reply only', async (_, options, untrusted) => {
    const query = client.query(file, options);
    const { status, reply } = client.curl(query);
    expect(status).toBe(200);
    expect(await client.verify(reply, query, untrusted)).toMatchObject({
      ok: true,
      text: expect.stringContaining('Verification: OK'),
    });
    const text = client.text(reply);
    expect(text).toMatch(/Status: Granted\./);
    expect(text).toMatch(/Accuracy: 0x02 seconds/);
    // The time has no fraction, because some verifiers read only three digits of a fraction and DER does not allow trailing zeros.
    expect(text).toMatch(/Time stamp: \w+ +\d+ \d\d:\d\d:\d\d \d{4} GMT/);
    const flipped = Buffer.from(reply);
    flipped.writeUInt8(flipped.readUInt8(flipped.length - 1) ^ 1, flipped.length - 1);
    expect((await client.verify(flipped, query, untrusted)).ok).toBe(false);
    const other = client.query(authority.keep('other.bin', 'Another file.'), options);
    expect((await client.verify(reply, other, untrusted)).ok).toBe(false);
  });

  it('omits the certificate from the token without certReq', async () => {
    expect(signedDataOf(client.curl(client.query(file, ['-sha256'])).reply).certificates).toBeUndefined();
    expect(signedDataOf(client.curl(client.query(file, ['-sha256', '-cert'])).reply).certificates).toHaveLength(2);
  });
});

describe('a timestamp query answered with HTTP 200 and a protocol status', () => {
  let client: TimestampClient;

  beforeAll(async () => {
    await certifiedKey(service, apiKey, authority, { name: 'tsa', type: 'ec-p256', purpose: 'timestamping' });
    client = new TimestampClient(service, apiKey, authority);
  });

  /** Returns a valid query with another version number, which openssl cannot create. */
  const ofVersion2 = (): Buffer => {
    const query = client.query(file);
    query.writeUInt8(2, query.indexOf(Buffer.from('020101', 'hex')) + 2);
    return query;
  };
  /** Returns a query with an extension. No token may be issued for such a query. */
  const withExtension = (): Buffer => {
    const query = client.query(file, ['-sha256', '-no_nonce']);
    const extensions = Buffer.from('a00e300c06032a0304040530030101ff', 'hex');
    return Buffer.concat([Buffer.from([0x30, query.length - 2 + extensions.length]), query.subarray(2), extensions]);
  };

  it.each<[string, () => Buffer, string, RegExp]>([
    ['sha1', () => client.query(file, ['-sha1']), 'badAlg', /unrecognized or unsupported algorithm/],
    ['garbage', () => Buffer.from('garbage'), 'badDataFormat', /data submitted has the wrong format/],
    ['nothing', () => Buffer.from([0x30, 0]), 'badDataFormat', /wrong format/],
    ['a query cut short', () => client.query(file).subarray(0, 40), 'badDataFormat', /wrong format/],
    [
      'another policy',
      () => client.query(file, ['-sha256', '-tspolicy', '1.2.3.4']),
      'unacceptedPolicy',
      /policy is not supported/,
    ],
    ['another version', ofVersion2, 'badRequest', /transaction not permitted or supported/],
    ['an extension', withExtension, 'unacceptedExtension', /extension is not supported/],
  ])('is rejected for %s', async (_, query, failure, words) => {
    const before = await stage.sql(`SELECT id FROM "timestamp"`);
    const { status, reply } = client.curl(query());
    expect(status).toBe(200);
    expect(client.text(reply)).toMatch(/Status: Rejected\./);
    expect(client.text(reply)).toMatch(words);
    // Every use of the HSM creates a row, so no new row means that the HSM was not used.
    expect(await stage.sql(`SELECT id FROM "timestamp"`)).toEqual(before);
    expect((await rejections()).at(-1)).toEqual({ failure });
  });

  it('may request the policy of the authority', async () => {
    const policy = '2.25.147707749704932427504177978547516550719';
    const query = client.query(file, ['-sha256', '-cert', '-tspolicy', policy]);
    const { reply } = client.curl(query);
    expect((await client.verify(reply, query)).ok).toBe(true);
    expect(client.text(reply)).toContain(`Policy OID: ${policy}`);
  });

  it('is rejected if a time server shows another time', async () => {
    const lying = await timeServer(30_000);
    const honest = await timeServer(0);
    const skewed = await stage.start({ role: 'api', settings: { SVC_TSA_NTP_SERVERS: lying.address } });
    const answer = new TimestampClient(skewed, apiKey, authority).curl(client.query(file));
    expect(client.text(answer.reply)).toMatch(/Status: Rejected\.[\s\S]*time source is not available/);
    const most = [honest.address, lying.address, honest.address].join(',');
    const sound = await stage.start({ role: 'api', settings: { SVC_TSA_NTP_SERVERS: most } });
    const query = client.query(file);
    const { reply } = new TimestampClient(sound, apiKey, authority).curl(query);
    expect((await client.verify(reply, query)).ok).toBe(true);
    lying.close();
    honest.close();
  });

  it('is rejected if the time servers do not respond', async () => {
    const gone = await timeServer(0);
    gone.close();
    const alone = await stage.start({ role: 'api', settings: { SVC_TSA_NTP_SERVERS: gone.address } });
    const { reply } = new TimestampClient(alone, apiKey, authority).curl(client.query(file));
    expect(client.text(reply)).toMatch(/time source is not available/);
  });

  it.skipIf(!has('faketime')).each(['+30s', '-30s'])('is rejected with a clock that is off by %s', async (by) => {
    const library = '/usr/$LIB/faketime/libfaketime.so.1';
    const settings = { LD_PRELOAD: library, FAKETIME: by, FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' };
    const skewed = await stage.start({ role: 'api', settings });
    const { reply } = new TimestampClient(skewed, apiKey, authority).curl(client.query(file));
    expect(client.text(reply)).toMatch(/Status: Rejected\.[\s\S]*time source is not available/);
    const [last] = await stage.sql(`SELECT status, failure_code FROM "timestamp" ORDER BY created_at DESC LIMIT 1`);
    expect(last).toEqual({ status: 'FAILED', failure_code: 'timestamp.timeNotAvailable' });
  });

  it('is rejected with a disabled key', async () => {
    const { body } = await service.call('GET', '/api/v1/signing-keys?limit=200', { key: apiKey });
    const { id } = body.items.find(({ name }: { name: string }) => name === 'tsa');
    await service.call('POST', `/api/v1/signing-keys/${id}/disable`, { key: apiKey });
    const { reply } = client.curl(client.query(file));
    expect(client.text(reply)).toMatch(/Status: Rejected\.[\s\S]*disabled/);
    await service.call('POST', `/api/v1/signing-keys/${id}/enable`, { key: apiKey });
    expect(client.text(client.curl(client.query(file)).reply)).toMatch(/Status: Granted\./);
  });
});

describe('a timestamp request', () => {
  const query = (): Buffer => new TimestampClient(service, apiKey, authority).query(file);
  const call = (headers: Record<string, string>, body: unknown = query()) =>
    service.call('POST', '/tsa', { body, headers: { 'content-type': TIMESTAMP_QUERY, ...headers } });
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

  it('is rejected without a credential, offering both schemes', async () => {
    const answer = await call({});
    assertProblem(answer, { status: 401, code: 'auth.missing' });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="sealwright", Basic realm="sealwright"');
  });
  it.each(['anyone:wrong', 'anyone:', 'anyone'])('is rejected with a wrong password: %s', async (text) => {
    expect((await call(basic(text))).status).toBe(401);
  });
  it('is rejected without the scope', async () => {
    const { key } = await newApiKey(service, apiKey, ['sign:digest']);
    assertProblem(await call(basic(`anyone:${key}`)), { status: 403, code: 'insufficient_scope' });
  });
  it('is accepted with the scope, also as a Bearer token', async () => {
    const { key } = await newApiKey(service, apiKey, ['timestamps:issue']);
    expect((await call({ authorization: `Bearer ${key}` })).status).toBe(200);
  });
  it('does not open other operations with its password', async () => {
    const headers = basic(`anyone:${apiKey}`);
    const answer = await service.call('GET', '/api/v1/signing-keys', { headers });
    assertProblem(answer, { status: 401, code: 'auth.missing' });
  });
  it('requires the protocol media type', async () => {
    const json = await service.call('POST', '/tsa', { key: apiKey, body: {} });
    assertProblem(json, { status: 415, code: 'request.media-type' });
    const large = await call(basic(`anyone:${apiKey}`), Buffer.alloc(20_000));
    assertProblem(large, { status: 413, code: 'request.too-large' });
  });
});

// `npm run bench -- timestamping` runs the same test with 10,000 tokens.
it(
  '300 tokens from two processes have unique serial numbers, each of which leads to its row',
  { timeout: 120_000 },
  async () => {
    const two = [service, await stage.start({ role: 'api' })].map((one) => new TimestampClient(one, apiKey, authority));
    const serials = await serialsOf(two, 300, file);
    expect(serials).toHaveLength(300);
    expect(new Set(serials).size).toBe(300);
    const rows = await stage.sql<{ id: string }>(
      `SELECT replace(id::text, '-', '') AS id FROM "timestamp" WHERE status = 'ISSUED'`,
    );
    const issued = new Set(rows.map(({ id }) => id));
    expect(serials.every((serial) => issued.has(serial))).toBe(true);
    expect(await stage.sql(`SELECT id FROM "timestamp" WHERE status = 'PENDING'`)).toEqual([]);
  },
);
