import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isSignedBy } from '../../../formats/ssh/ssh-signature.js';
import { sshPublicKeyOf } from '../../../formats/ssh/public-key.js';
import { WireReader, wireString, wireUint32 } from '../../../formats/ssh/wire.js';
import type { AgentKey } from '../signer/agent-keys.js';
import type { SignatureOrder, SignatureResult } from '../signer/remote-signer.js';
import { AGENT, agentFrame, AgentFrames, MAX_MESSAGE_BYTES } from './agent-frames.js';
import { serveSshClient } from './ssh-agent.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });

function agentKey(name: string, type: string, purpose: string, key: KeyObject): AgentKey {
  const publicKey = key.export({ type: 'spki', format: 'der' });
  return { id: name, name, version: 1, type, purpose, publicKey, chain: [] };
}

const KEYS = {
  rsa: agentKey('rsa', 'rsa-2048', 'ssh-signatures', rsa.publicKey),
  ec: agentKey('ec', 'ec-p256', 'ssh-login', ec.publicKey),
};

/** A service with two keys that records each request and responds to it. */
class OutsideService {
  readonly orders: SignatureOrder[] = [];
  signature = Buffer.alloc(64, 1);

  readonly keys = () => Promise.resolve(Object.values(KEYS));

  readonly sign = (order: SignatureOrder): Promise<SignatureResult> => {
    this.orders.push(order);
    return Promise.resolve({ kind: 'signed', signature: this.signature });
  };
}

/** Returns the two ends of a connection. */
function connection(): { ours: Duplex; theirs: Socket } {
  const make = (to: () => Duplex) =>
    new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        to().push(chunk);
        done();
      },
    });
  const ours: Duplex = make(() => theirs);
  const theirs: Duplex = make(() => ours);
  return { ours, theirs: theirs as unknown as Socket };
}

/** Returns the agent's responses to the given bytes, or an empty list if the agent closes the connection. */
async function answersTo(service: OutsideService, ...pieces: Buffer[]): Promise<{ type: number; contents: Buffer }[]> {
  const { ours, theirs } = connection();
  const frames = new AgentFrames();
  const answers: { type: number; contents: Buffer }[] = [];
  ours.on('data', (piece: Buffer) => answers.push(...frames.add(piece)));
  serveSshClient(theirs, service);
  for (const piece of pieces) theirs.emit('data', piece);
  await new Promise((resolve) => setTimeout(resolve, 20));
  theirs.destroy();
  return answers;
}

const blobOf = (key: KeyObject): Buffer => sshPublicKeyOf(key).blob;
const strings = (...parts: (string | Buffer)[]): Buffer => Buffer.concat(parts.map(wireString));
const SSHSIG = Buffer.concat([Buffer.from('SSHSIG'), strings('git', '', 'sha512', Buffer.alloc(64, 7))]);
const LOGIN = Buffer.concat([
  wireString(Buffer.alloc(32, 9)),
  Buffer.from([50]),
  strings('deploy', 'ssh-connection', 'publickey'),
  Buffer.from([1]),
  strings('ecdsa-sha2-nistp256', blobOf(ec.publicKey)),
]);
const request = (key: KeyObject, data: Buffer, flags: number): Buffer =>
  agentFrame(AGENT.signRequest, strings(blobOf(key), data), wireUint32(flags));

describe('the SSH agent', () => {
  it('lists its keys', async () => {
    const [answer] = await answersTo(new OutsideService(), agentFrame(AGENT.requestIdentities));
    const reader = new WireReader(answer?.contents ?? Buffer.alloc(0));
    expect([answer?.type, reader.uint32()]).toEqual([AGENT.identitiesAnswer, 2]);
    expect([reader.string(), reader.text()]).toEqual([blobOf(rsa.publicKey), 'rsa']);
    expect([reader.string(), reader.text(), reader.done]).toEqual([blobOf(ec.publicKey), 'ec', true]);
  });

  it.each([
    [2, 'rsa-sha2-256', 'sha256'],
    [4, 'rsa-sha2-512', 'sha512'],
  ])('flags %s: requests %s of the whole data from the service', async (flags, name, hash) => {
    const service = new OutsideService();
    const [answer] = await answersTo(service, request(rsa.publicKey, SSHSIG, flags));
    expect(service.orders).toMatchObject([{ algorithm: hash, scheme: 'rsa-pkcs1v15', purpose: 'ssh-signatures' }]);
    expect(service.orders[0]?.digest).toEqual(createHash(hash).update(SSHSIG).digest());
    const blob = new WireReader(answer?.contents ?? Buffer.alloc(0)).string();
    expect(new WireReader(blob).text()).toBe(name);
  });

  it('encodes r and s as OpenSSH expects', async () => {
    const service = new OutsideService();
    service.signature = sign('sha256', LOGIN, { key: ec.privateKey, dsaEncoding: 'ieee-p1363' });
    const [answer] = await answersTo(service, request(ec.publicKey, LOGIN, 0));
    const blob = new WireReader(answer?.contents ?? Buffer.alloc(0)).string();
    expect(isSignedBy(blobOf(ec.publicKey), blob, LOGIN)).toBe(true);
  });

  it.each([
    ['RSA with SHA-1', request(rsa.publicKey, SSHSIG, 0)],
    ['a login by a key for signatures', request(rsa.publicKey, LOGIN, 2)],
    ['a signature by a key for logins', request(ec.publicKey, SSHSIG, 0)],
    ['a key that is not offered', request(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, SSHSIG, 0)],
    [
      'bytes behind the request',
      agentFrame(AGENT.signRequest, strings(blobOf(ec.publicKey), LOGIN), wireUint32(0), Buffer.alloc(1)),
    ],
    ['unknown flags', request(ec.publicKey, LOGIN, 1)],
    ['adding a key', agentFrame(17, Buffer.alloc(8))],
    ['an extension', agentFrame(27, wireString('session-bind@openssh.com'))],
  ])('answers %s with a failure without contacting the service', async (_, frame) => {
    const service = new OutsideService();
    expect(await answersTo(service, frame)).toEqual([{ type: AGENT.failure, contents: Buffer.alloc(0) }]);
    expect(service.orders).toEqual([]);
  });

  it('reassembles messages split at any position', async () => {
    const bytes = Buffer.concat([agentFrame(AGENT.requestIdentities), request(ec.publicKey, LOGIN, 0)]);
    const pieces = [...bytes].map((octet) => Buffer.from([octet]));
    expect((await answersTo(new OutsideService(), ...pieces)).map(({ type }) => type)).toEqual([
      AGENT.identitiesAnswer,
      AGENT.signResponse,
    ]);
  });

  it.each([
    ['a length of nothing', wireUint32(0)],
    ['a length above the cap', wireUint32(MAX_MESSAGE_BYTES + 1)],
    [
      'more messages at once than it keeps',
      Buffer.concat(Array.from({ length: 17 }, () => agentFrame(AGENT.requestIdentities))),
    ],
  ])('closes the connection at %s', async (_, bytes) => {
    const { theirs } = connection();
    serveSshClient(theirs, new OutsideService());
    theirs.emit('data', bytes);
    expect(theirs.destroyed).toBe(true);
  });

  it('retains nothing of answered messages', () => {
    const frames = new AgentFrames();
    const bytes = Buffer.concat(Array.from({ length: 100 }, () => agentFrame(AGENT.requestIdentities)));
    expect(frames.add(bytes)).toHaveLength(100);
    expect(frames.add(Buffer.alloc(0))).toEqual([]);
  });
});
