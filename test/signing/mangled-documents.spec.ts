import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { certifiedKey } from '../support/certified-keys.js';
import { type CertifiedStage, extractedData, makeProgram, openCertifiedStage } from '../support/certified-stage.js';
import { randomOf } from '../support/hostile-values.js';
import { has } from '../support/peers.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { digestOf, sign } from '../support/signing.js';
import { TIMESTAMP_QUERY, TimestampClient } from '../support/timestamps.js';

/** Seed of the mangled documents. To use another seed: `SW_TEST_SEED=7 npm test -- test/signing/mangled-documents.spec.ts`. */
const SEED = Number(process.env['SW_TEST_SEED'] ?? 1);
const MANGLED = Number(process.env['SW_TEST_CALLS'] ?? 300);
const AT_ONCE = 8;
const DIGEST = digestOf('a file that was released');
const KEY = { rsa: 'rsa-2048', ec: 'ec-p256' };
const random = randomOf(SEED);

let certified: CertifiedStage;

beforeAll(async () => {
  certified = await openCertifiedStage(Object.values(KEY));
  const { service, apiKey, authority } = certified;
  await certifiedKey(service, apiKey, authority, { name: 'tsa', type: 'ec-p256', purpose: 'timestamping' });
});
afterAll(() => certified.close());

const below = (limit: number) => Math.floor(random() * limit);
/** Boundary values of lengths, tags and signs. */
const EDGES = [0x00, 0x01, 0x02, 0x03, 0x04, 0x1f, 0x30, 0x31, 0x7f, 0x80, 0x81, 0x84, 0x88, 0xa0, 0xff];

/** Applies one to three faults: bytes changed, omitted, duplicated or truncated. */
function mangled(document: Buffer): Buffer {
  let bytes = Buffer.from(document);
  for (let fault = 0; fault <= below(3); fault += 1) {
    const at = below(bytes.length);
    const end = Math.min(bytes.length, at + 1 + below(8));
    const [before, part, after] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
    const edge = Buffer.of(EDGES[below(EDGES.length)] ?? 0);
    const flipped = Buffer.of((bytes[at] ?? 0) ^ (1 << below(8)));
    const instead = [edge, flipped, Buffer.alloc(0), Buffer.concat([part, part])][below(4)] ?? edge;
    const rest = bytes.subarray(at + 1);
    bytes = instead.length === 1 ? Buffer.concat([before, instead, rest]) : Buffer.concat([before, instead, after]);
    if (below(12) === 0) bytes = bytes.subarray(0, at + 1);
  }
  return bytes;
}

type Send = (bytes: Buffer) => Promise<Answer>;

/** Returns the responses that are neither a result nor a problem, each with the document that caused the response. */
async function faultsOf(document: Buffer, send: Send): Promise<string[]> {
  const faults: string[] = [];
  const documents = Array.from({ length: MANGLED }, () => mangled(document))[Symbol.iterator]();
  const work = async () => {
    for (const bytes of documents) {
      const answer = await send(bytes);
      try {
        if (answer.status >= 400) assertProblem(answer, { status: answer.status, code: answer.body.code });
        if (answer.status >= 500) throw new Error(answer.body.code);
      } catch (error) {
        faults.push(`${answer.status} ${String(error)}: ${bytes.toString('base64')}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return faults;
}

const call = (path: string, body: unknown, headers = {}): Promise<Answer> =>
  certified.service.call('POST', path, { key: certified.apiKey, body, headers });

async function signed(body: Record<string, unknown>): Promise<Answer['body']> {
  const answer = await sign(certified.service, { key: certified.apiKey, body: { digest: DIGEST, ...body } });
  expect(answer.status).toBe(200);
  return answer.body;
}

it.each([
  ['cms', KEY.rsa],
  ['cms', KEY.ec],
  ['jws', KEY.ec],
  ['sigstore-bundle', KEY.ec],
  ['raw', KEY.ec],
])(`a mangled signature of the format %s by %s is verified and found invalid (seed ${SEED})`, async (format, key) => {
  const { signature } = await signed({ format, key, timestamp: format === 'cms' });
  const send: Send = (bytes) =>
    call('/api/v1/verify', { digest: DIGEST, key, format, signature: bytes.toString('base64') });
  expect(await faultsOf(Buffer.from(signature, 'base64'), send)).toEqual([]);
});

it('a mangled timestamp is verified and found invalid', async () => {
  const { signature, timestamp } = await signed({ key: KEY.ec, timestamp: true });
  const send: Send = (bytes) =>
    call('/api/v1/verify', { digest: DIGEST, key: KEY.ec, signature, timestamp: bytes.toString('base64') });
  expect(await faultsOf(Buffer.from(timestamp, 'base64'), send)).toEqual([]);
});

it('a mangled timestamp query gets an RFC 3161 response', async () => {
  const { service, apiKey, authority } = certified;
  const query = new TimestampClient(service, apiKey, authority).query(authority.keep('released.bin', 'A file.'));
  const send: Send = (bytes) => call('/tsa', bytes, { 'content-type': TIMESTAMP_QUERY });
  expect(await faultsOf(query, send)).toEqual([]);
});

it('a mangled certificate is rejected, or treated as a different one', async () => {
  const { certificateChain } = await signed({ key: KEY.ec, format: 'cms' });
  const pem = (bytes: Buffer) =>
    `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
  const send: Send = (bytes) => call('/api/v1/certificates', { chain: pem(bytes) });
  expect(await faultsOf(Buffer.from(certificateChain[0], 'base64'), send)).toEqual([]);
  expect((await certified.service.call('GET', '/api/v1/certificates', { key: certified.apiKey })).status).toBe(200);
});

it.skipIf(!has('osslsigncode'))('mangled Authenticode content is rejected', async () => {
  const program = certified.at('program.exe');
  makeProgram('exe', program, 'a program');
  const content = Buffer.from(extractedData(program, 'sha256'), 'base64');
  const send: Send = (bytes) => {
    const digest = createHash('sha256').update(bytes).digest('base64');
    return call('/api/v1/sign/digest', {
      digest,
      key: KEY.rsa,
      format: 'authenticode',
      content: bytes.toString('base64'),
    });
  };
  expect(await faultsOf(content, send)).toEqual([]);
});

const FORGER = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const verified = async (body: object): Promise<{ valid: boolean; said: string }> => {
  const answer = await call('/api/v1/verify', { digest: DIGEST, ...body });
  return { valid: answer.body.valid, said: JSON.stringify(answer.body.checks) };
};
const signedBy = async (key: string, format: string): Promise<Buffer> =>
  Buffer.from((await signed({ key, format })).signature, 'base64');

it('an ECDSA signature has one valid encoding: BER, padding and trailing bytes are rejected', async () => {
  const signature = await signedBy(KEY.ec, 'raw');
  const [length = 0, first = 0] = [signature[1], signature[3]];
  const others = [
    Buffer.concat([signature, Buffer.of(0)]),
    Buffer.concat([Buffer.of(0x30, 0x81, length), signature.subarray(2)]),
    Buffer.concat([Buffer.of(0x30, length + 2), signature.subarray(2), Buffer.of(0x05, 0x00)]),
    Buffer.concat([Buffer.of(0x30, length + 1, 0x02, first + 1, 0x00), signature.subarray(4)]),
    Buffer.concat([Buffer.of(0x30, length + 1, 0x02, 0x81, first), signature.subarray(4)]),
    Buffer.from('3006020100020100', 'hex'),
  ];
  const asked = (bytes: Buffer) => verified({ key: KEY.ec, signature: bytes.toString('base64') });
  expect((await asked(signature)).valid).toBe(true);
  for (const other of others) expect([other.toString('hex'), (await asked(other)).valid]).toEqual([other.toString('hex'), false]); // prettier-ignore
});

it('a JWS is verified with keys of the service only, whatever its header names and whoever else signed', async () => {
  const compact = (await signedBy(KEY.ec, 'jws')).toString();
  const [header = '', , value] = compact.split('.');
  const fields = JSON.parse(Buffer.from(header, 'base64url').toString()) as object;
  const forged = (more: object) => {
    const own = Buffer.from(JSON.stringify({ ...fields, ...more })).toString('base64url');
    const input = Buffer.concat([Buffer.from(`${own}.`), Buffer.from(DIGEST, 'base64')]);
    const made = signBytes('sha256', input, { key: FORGER.privateKey, dsaEncoding: 'ieee-p1363' });
    return `${own}..${made.toString('base64url')}`;
  };
  const several = { payload: '', signatures: [{ protected: header, signature: value }, { protected: header, signature: 'AAAA' }] }; // prettier-ignore
  const jwk = FORGER.publicKey.export({ format: 'jwk' });
  const pem = FORGER.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const forgeries = [
    forged({}),
    forged({ jwk }),
    forged({ x5c: [Buffer.from(pem).toString('base64')] }),
    forged({ crit: ['b64', 'exp'], exp: 1 }),
    `${Buffer.from(JSON.stringify({ ...fields, alg: 'none' })).toString('base64url')}..`,
    JSON.stringify(several),
  ];
  const asked = (text: string) => verified({ format: 'jws', signature: Buffer.from(text).toString('base64') });
  expect((await asked(compact)).valid).toBe(true);
  for (const text of forgeries) expect([text, (await asked(text)).valid]).toEqual([text, false]);
});

it('a Sigstore bundle is valid only for the digest it names, and only with keys of the service', async () => {
  const bundle = JSON.parse((await signedBy(KEY.ec, 'sigstore-bundle')).toString());
  const { messageSignature } = bundle;
  const other = { ...messageSignature.messageDigest, digest: digestOf('another file') };
  const foreign = signBytes('sha256', Buffer.from('a file that was released'), FORGER.privateKey).toString('base64');
  const asked = (changed: object) => {
    const signature = Buffer.from(JSON.stringify({ ...bundle, ...changed })).toString('base64');
    return verified({ format: 'sigstore-bundle', key: KEY.ec, signature });
  };
  expect((await asked({})).valid).toBe(true);
  for (const changed of [{ messageDigest: other }, { messageDigest: undefined }, { signature: foreign }])
    expect((await asked({ messageSignature: { ...messageSignature, ...changed } })).valid).toBe(false);
});

it('a CMS without signed attributes is rejected, because it binds neither a certificate nor a digest', async () => {
  const { at } = certified;
  const run = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  writeFileSync(at('content'), 'a file that was released');
  run('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', at('f.key'), '-out', at('f.pem'), '-subj', '/CN=f');
  const cms = ['cms', '-sign', '-binary', '-inkey', at('f.key'), '-signer', at('f.pem'), '-in', at('content'), '-outform', 'DER']; // prettier-ignore
  for (const [option, said] of [
    ['-noattr', 'no signed attributes'],
    ['-cades', 'signature'],
  ] as const) {
    run(...cms, option, '-out', at('f.p7s'));
    const answer = await verified({ format: 'cms', signature: readFileSync(at('f.p7s')).toString('base64') });
    expect(answer).toMatchObject({ valid: false, said: expect.stringContaining(said) });
  }
});
