import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sshPublicKeyOf } from '../../../formats/ssh/public-key.js';
import { wireString } from '../../../formats/ssh/wire.js';
import { readSignedData } from './ssh-signed-data.js';

const KEY = sshPublicKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey).blob;
const OTHER = sshPublicKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey).blob;

const strings = (...parts: (string | Buffer)[]): Buffer => Buffer.concat(parts.map(wireString));

function sshsig({ namespace = 'git', reserved = '', hash = 'sha512', bytes = 64 } = {}): Buffer {
  return Buffer.concat([Buffer.from('SSHSIG'), strings(namespace, reserved, hash, Buffer.alloc(bytes, 7))]);
}

function login({
  key = KEY,
  user = 'deploy',
  service = 'ssh-connection',
  method = 'publickey',
  session = 32,
  more = [] as Buffer[],
} = {}): Buffer {
  const head = Buffer.concat([wireString(Buffer.alloc(session, 9)), Buffer.from([50])]);
  const tail = Buffer.concat([Buffer.from([1]), strings('ecdsa-sha2-nistp256', key, ...more)]);
  return Buffer.concat([head, strings(user, service, method), tail]);
}

describe('data to be signed by the SSH agent', () => {
  it('is accepted as a signature in a namespace', () => {
    const read = readSignedData(sshsig(), KEY);
    expect(read).toMatchObject({ purpose: 'ssh-signatures', shown: { namespace: 'git', hash: 'sha512' } });
  });

  it('is accepted as a user login with the requested key', () => {
    const read = readSignedData(login(), KEY);
    expect(read).toMatchObject({ purpose: 'ssh-login', shown: { user: 'deploy' }, algorithm: 'ecdsa-sha2-nistp256' });
  });

  it('is accepted as a login bound to the host key', () => {
    const method = 'publickey-hostbound-v00@openssh.com';
    const read = readSignedData(login({ method, more: [OTHER] }), KEY);
    expect(read?.shown['hostKey']).toBe(OTHER.toString('base64'));
  });

  it.each([
    ['an empty namespace', sshsig({ namespace: '' })],
    ['something in the reserved field', sshsig({ reserved: 'x' })],
    ['a hash that is not of its length', sshsig({ bytes: 32 })],
    ['SHA-1', sshsig({ hash: 'sha1', bytes: 20 })],
    ['a namespace that cannot be shown', sshsig({ namespace: 'git\u0000file' })],
    ['a login by another key', login({ key: OTHER })],
    ['a login to another service', login({ service: 'ssh-userauth' })],
    ['another method', login({ method: 'hostbased' })],
    ['a session id of an impossible length', login({ session: 31 })],
    ['a host key where none belongs', login({ more: [OTHER] })],
    ['a digest', Buffer.alloc(32, 1)],
    ['nothing', Buffer.alloc(0)],
  ])('is rejected when it is %s', (_, data) => {
    expect(readSignedData(data, KEY)).toBeUndefined();
  });

  it.each([
    ['a signature', sshsig()],
    ['a login', login()],
  ])('is rejected when %s is truncated or has trailing data', (_, data) => {
    for (let length = 0; length < data.length; length += 1)
      expect(readSignedData(data.subarray(0, length), KEY)).toBeUndefined();
    expect(readSignedData(Buffer.concat([data, Buffer.alloc(1)]), KEY)).toBeUndefined();
  });
});
