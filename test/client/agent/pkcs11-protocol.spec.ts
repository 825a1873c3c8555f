import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SignatureResult } from '../../../src/client/agent/signer/remote-signer.js';
import { until } from '../../support/signing.js';
import {
  arrayOf,
  ay,
  bytesAttribute,
  INITIALIZE,
  mechanism,
  Pkcs11Program,
  template,
  u,
  u32,
  ulongAttribute,
  y,
} from './pkcs11-program.js';
import { agentKey, type Order, signatureFor, softwareToken, type SoftwareToken } from './software-token.js';

/** Protocol versions to test. The test builds the messages from the protocol specification, because Debian 12 has no newer clients. */
const VERSIONS = [0, 1, 2];
const CKM = { rsaPkcs: 1, pss: 13, sha256Rsa: 0x40, ecdsa: 0x1041, ecdsaSha384: 0x1045 };
const PRIVATE_KEY = ulongAttribute(0, 3);
const digest = createHash('sha256').update('content').digest();
const digestInfo = Buffer.concat([Buffer.from('3031300d060960864801650304020105000420', 'hex'), digest]);
const pss = Buffer.concat([u(0x250), u(2), u(32)]);

let token: SoftwareToken;
let answers: (order: Order) => Promise<SignatureResult> | SignatureResult;
const signed = (order: Order): SignatureResult => ({ kind: 'signed', signature: signatureFor(order) });

beforeAll(async () => {
  token = await softwareToken([agentKey('rsa', 'rsa-2048'), agentKey('ec', 'ec-p256')], (order) => answers(order));
});
afterAll(() => token.close());

async function open(version = 0) {
  answers = signed;
  token.orders.length = 0;
  const { program, session } = await Pkcs11Program.ready(token.path, version);
  const [rsa = 0, ec = 0] = await program.find(session, PRIVATE_KEY);
  return { program, session, rsa, ec };
}

describe.each(VERSIONS)('protocol version %i', (version) => {
  it('is negotiated', async () => {
    expect((await Pkcs11Program.connect(token.path, version)).version).toBe(version);
  });

  it.each([
    { what: 'RSA PKCS #1', key: 'rsa', type: CKM.rsaPkcs, data: digestInfo, scheme: 'rsa-pkcs1v15' },
    { what: 'RSA PKCS #1, hashed here', key: 'rsa', type: CKM.sha256Rsa, data: 'content', scheme: 'rsa-pkcs1v15' },
    { what: 'PSS', key: 'rsa', type: CKM.pss, parameters: pss, data: digest, scheme: 'rsa-pss' },
    { what: 'ECDSA', key: 'ec', type: CKM.ecdsa, data: digest, scheme: 'ecdsa-raw' },
  ] as const)('$what: only the digest is requested', async ({ key, type, data, scheme, ...row }) => {
    const place = await open(version);
    const parameters = 'parameters' in row ? row.parameters : undefined;
    const answer = await place.program.sign(
      place.session,
      place[key],
      mechanism(version, type, parameters),
      Buffer.from(data),
    );
    expect(answer).toMatchObject({ code: 0, call: 43, types: 'ay' });
    expect(token.orders).toMatchObject([{ digest, algorithm: 'sha256', scheme, key: { name: key } }]);
    const [order] = token.orders;
    expect(order !== undefined && arrayOf(answer)?.equals(signatureFor(order))).toBe(true);
  });
});

it('a newer client is offered the latest version of this server', async () => {
  expect((await Pkcs11Program.connect(token.path, 9)).version).toBe(2);
});

describe('multi-part signing', () => {
  it('hashes the parts locally', async () => {
    const { program, session, ec } = await open();
    await program.call(42, Buffer.concat([u(session), mechanism(0, CKM.ecdsaSha384), u(ec)]));
    for (const part of ['con', 'tent']) await program.call(44, Buffer.concat([u(session), ay(part)]));
    const { code } = await program.call(45, Buffer.concat([u(session), u32(1024)]));
    expect(code).toBe(0);
    const expected = createHash('sha384').update('content').digest();
    expect(token.orders).toMatchObject([{ algorithm: 'sha384', digest: expected }]);
  });
});

describe('a signature length query', () => {
  it('signs nothing, and the operation continues', async () => {
    const { program, session, rsa } = await open();
    await program.call(42, Buffer.concat([u(session), mechanism(0, CKM.rsaPkcs), u(rsa)]));
    for (const room of [0, 0xff_ff_ff_ff, 255]) {
      const { values } = await program.call(43, Buffer.concat([u(session), ay(digestInfo), u32(room)]));
      expect({ valid: values.readUInt8(0), length: values.readUInt32BE(1) }).toEqual({ valid: 0, length: 256 });
    }
    expect(token.orders).toEqual([]);
    const whole = await program.call(43, Buffer.concat([u(session), ay(digestInfo), u32(256)]));
    expect(arrayOf(whole)).toHaveLength(256);
  });

  it('is followed by the real call, which ends the operation', async () => {
    const { program, session, rsa } = await open();
    await program.sign(session, rsa, mechanism(0, CKM.rsaPkcs), digestInfo);
    expect(await program.call(43, Buffer.concat([u(session), ay(digestInfo), u32(256)]))).toMatchObject({ code: 0x91 });
  });
});

describe('the terminal shows a remedy where the tool shows only a code', () => {
  const sha1 = Buffer.concat([Buffer.from('3021300906052b0e03021a05000414', 'hex'), Buffer.alloc(20)]);
  it.each([
    ['a digest of SHA-1', CKM.rsaPkcs, sha1, undefined, /a digest that is not SHA-256, SHA-384 or SHA-512/],
    ['a mechanism of SHA-1', 0x6, Buffer.from('content'), undefined, /mechanism 0x6, .* SHA-256/],
    ['PSS with another salt', CKM.pss, digest, Buffer.concat([u(0x250), u(2), u(222)]), /rsa_pss_saltlen:digest/],
    [
      'PSS that OpenSSL pads by itself',
      0x3,
      Buffer.alloc(256),
      undefined,
      /pads the digest itself.*rsa_pss_saltlen:digest/,
    ],
  ] as const)('%s', async (_, type, data, parameters, words) => {
    const { program, session, rsa } = await open();
    token.notes.length = 0;
    await program.sign(session, rsa, mechanism(0, type, parameters), data);
    expect(token.notes).toEqual([expect.stringMatching(words)]);
    expect(token.orders).toEqual([]);
  });

  it('but nothing if there is no error', async () => {
    const { program, session, rsa } = await open();
    token.notes.length = 0;
    await program.sign(session, rsa, mechanism(0, CKM.rsaPkcs), digestInfo);
    expect(token.notes).toEqual([]);
  });
});

describe('input that is not a digest is not signed', () => {
  const md5AndSha1 = Buffer.alloc(36, 1);
  const sha1 = Buffer.concat([Buffer.from('3021300906052b0e03021a05000414', 'hex'), Buffer.alloc(20)]);
  const withoutNull = Buffer.concat([Buffer.from('302f300b06096086480165030402010420', 'hex'), digest]);
  const longLength = Buffer.concat([Buffer.from('308131300d060960864801650304020105000420', 'hex'), digest]);
  it.each([
    ['the 36 bytes of TLS 1.0', CKM.rsaPkcs, md5AndSha1, 0x20],
    ['a DigestInfo of SHA-1', CKM.rsaPkcs, sha1, 0x20],
    ['a bare digest', CKM.rsaPkcs, digest, 0x20],
    ['a DigestInfo with a byte behind it', CKM.rsaPkcs, Buffer.concat([digestInfo, y(0)]), 0x20],
    ['a DigestInfo that is cut', CKM.rsaPkcs, digestInfo.subarray(0, -1), 0x20],
    ['a DigestInfo without its NULL, which the service would sign as another', CKM.rsaPkcs, withoutNull, 0x20],
    ['a length that is not DER', CKM.rsaPkcs, longLength, 0x20],
    ['more than a digest can be', CKM.rsaPkcs, Buffer.alloc(84), 0x21],
    ['nothing', CKM.rsaPkcs, Buffer.alloc(0), 0x20],
  ])('%s', async (_, type, data, code) => {
    const { program, session, rsa } = await open();
    expect(await program.sign(session, rsa, mechanism(0, type), data)).toMatchObject({ code });
    expect(token.orders).toEqual([]);
  });

  it.each([19, 20, 28, 31, 33, 65])('%i bytes for ECDSA', async (length) => {
    const { program, session, ec } = await open();
    expect(await program.sign(session, ec, mechanism(0, CKM.ecdsa), Buffer.alloc(length))).toMatchObject({
      code: 0x21,
    });
  });

  it.each([
    ['another salt', Buffer.concat([u(0x250), u(2), u(20)])],
    ['MGF1 with another hash', Buffer.concat([u(0x250), u(3), u(32)])],
    ['SHA-1', Buffer.concat([u(0x220), u(1), u(20)])],
    ['no parameters', Buffer.alloc(0)],
  ])('PSS with %s, which the service does not support', async (_, parameters) => {
    const { program, session, rsa } = await open();
    expect(await program.sign(session, rsa, mechanism(2, CKM.pss, parameters), digest)).toMatchObject({ code: 0x71 });
  });

  it('a mechanism for another key type', async () => {
    const { program, session, ec } = await open();
    expect(await program.sign(session, ec, mechanism(0, CKM.rsaPkcs), digestInfo)).toMatchObject({ code: 0x63 });
  });

  it('with a public key', async () => {
    const { program, session } = await open();
    const [publicKey = 0] = await program.find(session, ulongAttribute(0, 2));
    expect(await program.sign(session, publicKey, mechanism(0, CKM.rsaPkcs), digestInfo)).toMatchObject({ code: 0x60 });
  });
});

describe('the outcome of a request is returned to the program', () => {
  it.each([
    ['rejected', 0x200],
    ['expired', 0x200],
    ['withdrawn', 0x50],
    ['refused', 0x68],
    ['unavailable', 0x30],
  ] as const)('%s', async (kind, code) => {
    const { program, session, rsa } = await open();
    answers = () => ({ kind, detail: 'so it ended' });
    expect(await program.sign(session, rsa, mechanism(0, CKM.rsaPkcs), digestInfo)).toMatchObject({ code });
    answers = signed;
    expect(await program.sign(session, rsa, mechanism(0, CKM.rsaPkcs), digestInfo)).toMatchObject({ code: 0 });
  });

  it('a signature of the wrong length for the key is not returned', async () => {
    const { program, session, rsa } = await open();
    answers = () => ({ kind: 'signed', signature: Buffer.alloc(64) });
    expect(await program.sign(session, rsa, mechanism(0, CKM.rsaPkcs), digestInfo)).toMatchObject({ code: 0x30 });
  });
});

describe('while an approval is pending', () => {
  const pending = () => {
    const asked = Promise.withResolvers<Order>();
    const answer = Promise.withResolvers<SignatureResult>();
    answers = (order) => {
      asked.resolve(order);
      return answer.promise;
    };
    return { asked: asked.promise, answer };
  };

  it('other sessions of the same program are served, with responses in any order', async () => {
    const { program, session, rsa, ec } = await open();
    const { asked, answer } = pending();
    const first = program.sign(session, rsa, mechanism(0, CKM.rsaPkcs), digestInfo);
    const order = await asked;
    answers = signed;
    const { values } = await program.call(10, Buffer.concat([u(0), u(4)]));
    const other = Number(values.readBigUInt64BE());
    expect(await program.sign(other, ec, mechanism(0, CKM.ecdsa), digest)).toMatchObject({ code: 0 });
    answer.resolve(signed(order));
    expect(await first).toMatchObject({ code: 0 });
  });

  it.each([
    ['the program goes away', (program: Pkcs11Program) => void program.socket.destroy()],
    [
      'it closes the session',
      (program: Pkcs11Program, session: number) => void program.call(11, u(session)).catch(() => undefined),
    ],
    ['it ends the library', (program: Pkcs11Program) => void program.call(2).catch(() => undefined)],
  ])('%s: the request is withdrawn', async (_, leave) => {
    const { program, session, rsa } = await open();
    const { asked } = pending();
    void program.sign(session, rsa, mechanism(0, CKM.rsaPkcs), digestInfo).catch(() => undefined);
    const order = await asked;
    expect(order.signal.aborted).toBe(false);
    leave(program, session);
    await until('the order is given up', 5, () => Promise.resolve(order.signal.aborted));
  });
});

describe('objects', () => {
  it('include a private and a public half with the same CKA_ID for each key', async () => {
    const { program, session } = await open();
    const read = async (handle: number) => {
      const { values } = await program.call(24, Buffer.concat([u(session), u(handle), u32(1), u32(0x102), u32(100)]));
      return values.subarray(17, 37).toString('hex');
    };
    const halves = await program.find(session, bytesAttribute(3, Buffer.from('ec')));
    const ids = await Promise.all(halves.map(read));
    expect(halves).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
  });

  it('treat the private exponent as sensitive, and missing attributes as invalid', async () => {
    const { program, session, rsa } = await open();
    const ask = async (type: number) => {
      const { values } = await program.call(24, Buffer.concat([u(session), u(rsa), u32(1), u32(type), u32(512)]));
      return Number(values.readBigUInt64BE(values.length - 8));
    };
    expect([await ask(0x123), await ask(0x181), await ask(0x120)]).toEqual([0x11, 0x12, 0]);
  });

  it('are read-only', async () => {
    const { program, session } = await open();
    const made = await program.call(20, Buffer.concat([u(session), template(ulongAttribute(0, 4))]));
    expect(made).toMatchObject({ code: 0xe2 });
  });
});

describe('protocol violations are rejected', () => {
  it.each([
    ['a call that is not there', 99, Buffer.alloc(0), '', 0x54],
    ['arguments of other types', 10, u(0), 'u', 0x30],
    ['arguments that are cut short', 10, u(0), 'uu', 0x30],
    ['arguments that are longer than they say', 10, Buffer.concat([u(0), u(4), y(0)]), 'uu', 0x30],
    ['a template of a million attributes', 26, Buffer.concat([u(1), u32(1_000_000)]), 'uaA', 0x30],
  ])('%s', async (_, call, args, types, code) => {
    const { program } = await open();
    expect(await program.call(call, args, types)).toMatchObject({ code });
    expect(await program.call(3)).toMatchObject({ code: 0, types: 'vsusv' });
  });

  it('templates nested too deeply', async () => {
    const { program, session } = await open();
    let nested = template(ulongAttribute(0, 3));
    for (let depth = 0; depth < 6; depth += 1)
      nested = template(Buffer.concat([u32(0x40000211), y(1), u32(nested.length), nested]));
    expect(await program.call(26, Buffer.concat([u(session), nested]))).toMatchObject({ code: 0x30 });
  });

  it('a message above the maximum length, which ends the connection', async () => {
    const { program } = await open();
    program.socket.write(Buffer.concat([u32(1), u32(0), u32(0x7f_ff_ff_ff)]));
    await once(program.socket, 'close');
  });

  it('calls before C_Initialize', async () => {
    const program = await Pkcs11Program.connect(token.path);
    expect(await program.call(10, Buffer.concat([u(0), u(4)]))).toMatchObject({ code: 0x190 });
    expect(await program.call(1, INITIALIZE)).toMatchObject({ code: 0 });
  });

  it('more sessions than allowed per program', async () => {
    const { program } = await open();
    const codes = [];
    for (let i = 0; i < 128; i += 1) codes.push((await program.call(10, Buffer.concat([u(0), u(4)]))).code);
    expect(codes.slice(0, 127)).toEqual(Array.from({ length: 127 }, () => 0));
    expect(codes[127]).toBe(0xb1);
  });
});
