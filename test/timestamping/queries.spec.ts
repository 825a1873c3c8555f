import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authority } from '../support/authority.js';
import { certifiedKey } from '../support/certified-keys.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { TIMESTAMP_QUERY, TimestampClient } from '../support/timestamps.js';

let stage: Stage;
let service: Service;
let apiKey: string;
let authority: Authority;
let client: TimestampClient;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  service = await stage.start({ role: 'api' });
  authority = new Authority();
  await certifiedKey(service, apiKey, authority, { name: 'tsa', type: 'ec-p256', purpose: 'timestamping' });
  client = new TimestampClient(service, apiKey, authority);
});
afterAll(async () => {
  authority.remove();
  await stage.close();
});

const at = (name: string) => join(authority.directory, name);

async function stamp(body: Buffer) {
  const headers = { 'content-type': TIMESTAMP_QUERY, authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${service.url}/tsa`, { method: 'POST', headers, body: new Uint8Array(body) });
  return { status: answer.status, reply: Buffer.from(await answer.arrayBuffer()) };
}

/** Encodes DER, or deliberately malformed DER. */
function tlv(tag: number, ...parts: Buffer[]): Buffer {
  const contents = Buffer.concat(parts);
  const length = contents.length < 0x80 ? [contents.length] : [0x81, contents.length];
  return Buffer.concat([Buffer.from([tag, ...length]), contents]);
}
const hex = (text: string) => Buffer.from(text, 'hex');
const SHA256 = hex('0609608648016503040201');
const NULL = hex('0500');
const imprint = (...parameters: Buffer[]) =>
  tlv(0x30, tlv(0x30, SHA256, ...parameters), tlv(4, createHash('sha256').update('to be stamped').digest()));
const queryOf = (...fields: Buffer[]) => tlv(0x30, hex('020101'), ...fields);
const nonce = (octets: string) => tlv(2, hex(octets));
const CERT_REQ = hex('0101ff');

describe('the signed content is DER for any input', () => {
  it.each([
    ['a nonce with zeros in front', [nonce('0000001122')], '0x1122'],
    ['a nonce with ones in front', [nonce('ffffff80')], '0x-80'],
    ['a negative nonce', [nonce('9c01')], '0x-63FF'],
    ['a nonce of zero', [nonce('00')], '0x0'],
    ['a nonce of 32 octets', [nonce('41'.repeat(32))], `0x${'41'.repeat(32)}`],
    ['TRUE as some write it', [nonce('11'), hex('010101')], '0x11'],
    ['FALSE, which should be left out', [nonce('11'), hex('010100')], '0x11'],
  ])('%s: openssl reads the reply, and the nonce is the same', async (_, fields, number) => {
    const { status, reply } = await stamp(queryOf(imprint(NULL), ...fields));
    expect(status).toBe(200);
    const text = client.text(reply);
    expect(text).toMatch(/Status: Granted\./);
    expect(text).toContain(`Nonce: ${number}\n`);
    expect(nonceOf(reply)).toBe(true);
  });

  it.each([
    ['no parameters', imprint()],
    ['NULL', imprint(NULL)],
  ])('with the imprint repeated with %s, as received', async (_, given) => {
    const { reply } = await stamp(queryOf(given, CERT_REQ));
    expect(reply.includes(given)).toBe(true);
  });

  it('with long-form lengths accepted, but not repeated', async () => {
    const body = queryOf(imprint(NULL), nonce('77')).subarray(2);
    const { reply } = await stamp(Buffer.concat([Buffer.from([0x30, 0x82, 0, body.length]), body]));
    expect(client.text(reply)).toMatch(/Status: Granted\./);
  });

  it('even if the imprint is not DER', async () => {
    const contents = imprint(NULL).subarray(2);
    const long = Buffer.concat([Buffer.from([0x30, 0x81, contents.length]), contents]);
    const { reply } = await stamp(queryOf(long, CERT_REQ));
    expect(reply.includes(long)).toBe(false);
    expect(reply.includes(imprint(NULL))).toBe(true);
  });

  it.each([
    ['a nonce without octets', queryOf(imprint(NULL), hex('0200')), /wrong format/],
    ['two parameters of the hash algorithm', queryOf(imprint(NULL, NULL)), /wrong format/],
    ['a parameter of the hash algorithm', queryOf(imprint(hex('04026869'))), /unsupported algorithm/],
    ['a BOOLEAN of two octets', queryOf(imprint(NULL), hex('0102ffff')), /wrong format/],
    ['a BOOLEAN of none', queryOf(imprint(NULL), hex('0100')), /wrong format/],
    ['something behind the query', Buffer.concat([queryOf(imprint(NULL)), hex('0000')]), /wrong format/],
    [
      'an indefinite length',
      Buffer.concat([hex('3080'), queryOf(imprint(NULL)).subarray(2), hex('0000')]),
      /wrong format/,
    ],
    ['a field that comes twice', queryOf(imprint(NULL), nonce('11'), nonce('11')), /wrong format/],
    ['fields out of order', queryOf(imprint(NULL), CERT_REQ, nonce('11')), /wrong format/],
    [
      'a hash that is too short',
      queryOf(tlv(0x30, tlv(0x30, SHA256, NULL), tlv(4, hex('00'.repeat(20))))),
      /wrong format/,
    ],
    ['nothing at all', Buffer.alloc(0), /wrong format/],
    [
      'Authenticode timestamp protocol that preceded RFC 3161',
      Buffer.from(`${queryOf(imprint(NULL)).toString('base64')}\r\n`),
      /wrong format/,
    ],
  ])('%s is rejected with a protocol status', async (_, body, words) => {
    const before = await stage.sql(`SELECT id FROM "timestamp"`);
    const { status, reply } = await stamp(body);
    expect({ status, text: client.text(reply) }).toEqual({
      status: 200,
      text: expect.stringMatching(/Status: Rejected\./),
    });
    expect(client.text(reply)).toMatch(words);
    expect(await stage.sql(`SELECT id FROM "timestamp"`)).toEqual(before);
  });
});

/** Reports whether openssl can parse the reply and extract the token. */
function nonceOf(reply: Buffer): boolean {
  const file = authority.keep('token.tsr', reply);
  const { status } = spawnSync('openssl', ['ts', '-reply', '-in', file, '-token_out', '-out', at('token.der')]);
  return status === 0 && readFileSync(at('token.der')).length > 100;
}
