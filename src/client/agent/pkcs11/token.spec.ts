import 'reflect-metadata';
import { X509CertificateGenerator } from '@peculiar/x509';
import { createHash, webcrypto } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AgentKey } from '../signer/agent-keys.js';
import type { SignatureOrder } from '../signer/remote-signer.js';
import { ulong } from './attributes.js';
import { CKA, CKF, CKG_MGF1, CKM, CKO, CKR } from '../../../formats/pkcs/cryptoki.js';
import { Token, type TokenSource } from './token.js';
import { CryptokiFault } from './rpc-message.js';

/** The tests cover interoperability problems between tools and tokens, taken from bug reports. Each test expects the correct behavior. */
const ROOM = { asksLength: false, size: 1024 };
const LENGTH_ALONE = { asksLength: true, size: 0 };
const NO_PARAMETERS = Buffer.alloc(0);
const data = Buffer.from('what is signed');
const digest = createHash('sha256').update(data).digest();
const digestInfo = Buffer.concat([Buffer.from('3031300d060960864801650304020105000420', 'hex'), digest]);
const RSA = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) }; // prettier-ignore
const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

let keys: AgentKey[];
let orders: Omit<SignatureOrder, 'purpose'>[];
let token: Token;
let session: number;
let source: TokenSource;

const pairOf = (algorithm: typeof RSA | typeof ECDSA) =>
  webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);

/** Returns a DER certificate of `subject` issued by `issuer`. */
async function certificate(
  subject: string,
  own: webcrypto.CryptoKeyPair,
  issuer: string,
  by: webcrypto.CryptoKeyPair,
): Promise<Buffer> {
  const made = await X509CertificateGenerator.create({
    subject: `CN=${subject}`,
    issuer: `CN=${issuer}`,
    notBefore: new Date('2026-01-01'),
    notAfter: new Date('2036-01-01'),
    publicKey: own.publicKey,
    signingKey: by.privateKey,
    signingAlgorithm: ECDSA,
  });
  return Buffer.from(made.rawData);
}

async function keyOf(name: string, type: string, pair: webcrypto.CryptoKeyPair, chain: Buffer[]): Promise<AgentKey> {
  const publicKey = Buffer.from(await webcrypto.subtle.exportKey('spki', pair.publicKey));
  return { id: name, name, version: 1, type, purpose: 'code-signing', publicKey, chain };
}

beforeAll(async () => {
  const [rsa, ec, root, intermediate] = await Promise.all([pairOf(RSA), pairOf(ECDSA), pairOf(ECDSA), pairOf(ECDSA)]);
  const chain = [
    await certificate('Release', rsa, 'Issuing', intermediate),
    await certificate('Issuing', intermediate, 'Root', root),
    await certificate('Root', root, 'Root', root),
  ];
  keys = [await keyOf('release', 'rsa-2048', rsa, chain), await keyOf('bare', 'ec-p256', ec, [])];
});

beforeEach(async () => {
  orders = [];
  source = {
    keys: () => Promise.resolve(keys),
    sign(order) {
      orders.push(order);
      return Promise.resolve({ kind: 'signed', signature: Buffer.alloc(order.key.type === 'rsa-2048' ? 256 : 64, 1) });
    },
    asksForPin: false,
    note: () => undefined,
  };
  ({ token, session } = await program());
});

/** Returns a program that has loaded the module and opened a session. */
async function program(): Promise<{ token: Token; session: number }> {
  const made = new Token(source);
  await made.initialize();
  return { token: made, session: made.openSession(0, CKF.SERIAL_SESSION) };
}

function find(...wanted: readonly (readonly [number, Buffer])[]): number[] {
  token.findInit(session, wanted.map(([type, value]) => ({ type, value }))); // prettier-ignore
  const found = token.find(session, { asksLength: false, size: 100 });
  token.findFinal(session);
  return found;
}

const ofClass = (value: number) => [CKA.CLASS, ulong(value)] as const;
const privateKeyOf = (name: string) => find(ofClass(CKO.PRIVATE_KEY), [CKA.LABEL, Buffer.from(name)])[0] ?? 0;
const valueOf = (object: number, type: number) => token.attributes(session, object, [{ type, size: 4096 }]).values[0]?.value; // prettier-ignore

function begin(type: number, key = 'release', parameters: Buffer = NO_PARAMETERS): void {
  token.signInit(session, { type, parameters }, privateKeyOf(key));
}

const codeOf = (work: () => unknown): number | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof CryptokiFault ? error.code : -1;
  }
};
const rejection = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => (error instanceof CryptokiFault ? error.code : -1),
  );

describe('signature length (tpm2-pkcs11 133, cryptoauthlib 315, pam_pkcs11 39)', () => {
  it.each([
    ['no room', LENGTH_ALONE],
    ['too little room', { asksLength: false, size: 255 }],
  ])('%s: C_Sign returns it without requesting a signature, and the operation continues', async (_, room) => {
    begin(CKM.RSA_PKCS);
    expect(await token.sign(session, digestInfo, room)).toBe(256);
    expect(orders).toEqual([]);
    expect(await token.sign(session, digestInfo, ROOM)).toHaveLength(256);
    expect(orders).toHaveLength(1);
  });

  it('is also returned by C_SignFinal, after data in several parts', async () => {
    begin(CKM.SHA256_RSA_PKCS);
    token.signUpdate(session, data.subarray(0, 5));
    token.signUpdate(session, data.subarray(5));
    expect(await token.signFinal(session, LENGTH_ALONE)).toBe(256);
    expect(await token.signFinal(session, ROOM)).toHaveLength(256);
    expect(orders.map((order) => order.digest)).toEqual([digest]);
  });
});

it.each([
  ['sha256', CKM.SHA256_RSA_PKCS],
  ['sha384', CKM.SHA384_RSA_PKCS],
  ['sha512', CKM.SHA512_RSA_PKCS],
] as const)('%s is computed locally over the whole data, in one part or several (kryoptic 286)', async (hash, type) => {
  begin(type);
  await token.sign(session, data, ROOM);
  begin(type);
  for (const byte of data) token.signUpdate(session, Buffer.from([byte]));
  await token.signFinal(session, ROOM);
  const expected = { algorithm: hash, digest: createHash(hash).update(data).digest() };
  expect(orders).toMatchObject([expected, expected]);
});

describe('a program that forks or reloads the module (libp11 39, engine_pkcs11 16, pkcs11-provider 313)', () => {
  it('has separate sessions, and ends without ending those of the other', async () => {
    const child = await program();
    child.token.openSession(0, CKF.SERIAL_SESSION);
    expect(codeOf(() => token.sessions.get(2))).toBe(CKR.SESSION_HANDLE_INVALID);
    child.token.finalize();
    child.token.close();
    begin(CKM.RSA_PKCS);
    expect(await token.sign(session, digestInfo, ROOM)).toHaveLength(256);
  });

  it('finds the keys again with C_Initialize after C_Finalize', async () => {
    token.finalize();
    expect(codeOf(() => token.openSession(0, CKF.SERIAL_SESSION))).toBe(CKR.CRYPTOKI_NOT_INITIALIZED);
    await token.initialize();
    session = token.openSession(0, CKF.SERIAL_SESSION);
    expect(find(ofClass(CKO.PRIVATE_KEY))).toHaveLength(2);
  });
});

describe('a login (libp11 118, 496, 521)', () => {
  it('returns CKR_USER_ALREADY_LOGGED_IN the second time, and is never requested for a single signature', () => {
    token.login(session, 1);
    expect(codeOf(() => token.login(session, 1))).toBe(CKR.USER_ALREADY_LOGGED_IN);
    expect(codeOf(() => token.login(session, 2))).toBe(CKR.USER_TYPE_INVALID);
    expect(valueOf(privateKeyOf('release'), CKA.ALWAYS_AUTHENTICATE)).toEqual(Buffer.from([0]));
  });

  it('is not required to list keys or sign, and ends with the last session', async () => {
    begin(CKM.RSA_PKCS);
    expect(await token.sign(session, digestInfo, ROOM)).toHaveLength(256);
    token.login(session, 1);
    token.sessions.close(session);
    session = token.openSession(0, CKF.SERIAL_SESSION);
    expect(codeOf(() => token.logout(session))).toBe(CKR.USER_NOT_LOGGED_IN);
  });
});

it('an open session has a state, which libp11 0.4.13 needs to treat its keys as valid (aws-kms-pkcs11 36)', () => {
  const { sessions } = token;
  expect(sessions.stateOf(sessions.get(session))).toBe(0);
  token.login(session, 1);
  expect(sessions.stateOf(sessions.get(session))).toBe(1);
});

it.each([0, 20, 222])('PSS with a salt of %d bytes is rejected before signing (OpenSC 2474, step-kms-plugin 211)', (salt) => {
  const parameters = ulong(CKM.SHA256, CKG_MGF1.sha256, salt);
  expect(codeOf(() => begin(CKM.RSA_PKCS_PSS, 'release', parameters))).toBe(CKR.MECHANISM_PARAM_INVALID);
  expect(codeOf(() => begin(CKM.RSA_PKCS_PSS, 'release', ulong(CKM.SHA256, CKG_MGF1.sha256, 32)))).toBeUndefined();
}); // prettier-ignore

it('a DigestInfo inside a DigestInfo is not signed (gnupg-pkcs11-scd 3)', async () => {
  begin(CKM.RSA_PKCS);
  const twice = Buffer.concat([Buffer.from('3044300d060960864801650304020105000433', 'hex'), digestInfo]);
  expect(await rejection(token.sign(session, twice, ROOM))).toBe(CKR.DATA_INVALID);
  expect(orders).toEqual([]);
});

describe('objects', () => {
  it('share one CKA_ID between key, public key and certificate, which finds no other key (thin-edge 3601)', () => {
    const [release, bare] = ['release', 'bare'].map((name) => valueOf(privateKeyOf(name), CKA.ID) ?? Buffer.alloc(0)) as [Buffer, Buffer]; // prettier-ignore
    expect(release).not.toEqual(bare);
    for (const kind of [CKO.PRIVATE_KEY, CKO.PUBLIC_KEY, CKO.CERTIFICATE])
      expect(find(ofClass(kind), [CKA.ID, release])).toHaveLength(1);
    expect(find([CKA.ID, bare])).toHaveLength(2);
  });

  it('include each issuer under the name in the certificate below it, up to the root (kms-integrations 34)', () => {
    const [leaf = 0] = find(ofClass(CKO.CERTIFICATE), [CKA.LABEL, Buffer.from('release')]);
    const names: string[] = [];
    for (let at = leaf; ;) {
      const [subject, issuer] = [valueOf(at, CKA.SUBJECT), valueOf(at, CKA.ISSUER)] as [Buffer, Buffer];
      names.push(subject.subarray(-7).toString('latin1').replace(/^.*[^A-Za-z]/s, '')); // prettier-ignore
      if (subject.equals(issuer)) break;
      const found = find(ofClass(CKO.CERTIFICATE), [CKA.SUBJECT, issuer]);
      expect(found).toHaveLength(1);
      at = found[0] ?? 0;
    }
    expect(names).toEqual(['Release', 'Issuing', 'Root']);
  });

  it('include a key without a certificate, which signs (osslsigncode 145)', async () => {
    begin(CKM.ECDSA, 'bare');
    expect(await token.sign(session, digest, ROOM)).toHaveLength(64);
  });

  it('yield an empty list if none match, and end the search before the next (SunPKCS11)', () => {
    expect(find([CKA.LABEL, Buffer.from('nothing')])).toEqual([]);
    expect(find(ofClass(CKO.PRIVATE_KEY))).toHaveLength(2);
  });
});

it('an unknown slot returns CKR_SLOT_ID_INVALID in every call (krb5 126)', () => {
  const calls = [
    () => token.openSession(1, CKF.SERIAL_SESSION),
    () => token.info(1),
    () => token.mechanisms(7),
    () => token.closeAllSessions(1),
  ];
  expect(calls.map(codeOf)).toEqual(calls.map(() => CKR.SLOT_ID_INVALID));
});
