import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { AgentKey } from '../src/client/agent/signer/agent-keys.js';
import type { SignatureOrder, SignatureResult } from '../src/client/agent/signer/remote-signer.js';
import { AGENT, agentFrame, AgentFrames } from '../src/client/agent/ssh/agent-frames.js';
import { SshAgentConnection } from '../src/client/agent/ssh/ssh-agent.js';
import { sshPublicKeyOf } from '../src/formats/ssh/public-key.js';
import { wireString, wireUint32 } from '../src/formats/ssh/wire.js';
import { heldMemory } from './support/memory.js';
import { Dice } from '../test/client/agent/mutated-frames.js';

/**
 * `npm run proof -- ssh-agent [--frames 1000000] [--seed 1]`: sends mutated frames to the SSH agent. The agent must answer each frame or close the connection,
 * leak no memory, and request signatures only over complete messages that approvers see as a whole.
 */
const { values } = parseArgs({
  options: {
    frames: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
  },
});
const FRAMES = Number(values.frames);
const MAX_GROWTH_MB = 40;
const dice = new Dice(Number(values.seed));
const someBytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => dice.next(256)));

const strings = (...parts: (string | Buffer)[]): Buffer => Buffer.concat(parts.map(wireString));
const blobOf = (key: KeyObject): Buffer => sshPublicKeyOf(key).blob;

function keyOf(name: string, type: string, purpose: string, pair: { publicKey: KeyObject }): AgentKey {
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' });
  return { id: name, name, version: 1, type, purpose, publicKey, chain: [] };
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const KEYS = [
  keyOf('rsa-signatures', 'rsa-2048', 'ssh-signatures', rsa),
  keyOf('ec-login', 'ec-p256', 'ssh-login', ec),
];

function sshsig(namespace: string, hash: string, digest: Buffer): Buffer {
  return Buffer.concat([Buffer.from('SSHSIG'), strings(namespace, '', hash, digest)]);
}

function login(session: Buffer, user: string, host?: Buffer): Buffer {
  const method = host === undefined ? 'publickey' : 'publickey-hostbound-v00@openssh.com';
  const head = Buffer.concat([
    wireString(session),
    Buffer.from([50]),
    strings(user, 'ssh-connection', method),
    Buffer.from([1]),
  ]);
  return Buffer.concat([
    head,
    strings('ecdsa-sha2-nistp256', blobOf(ec.publicKey), ...(host === undefined ? [] : [host])),
  ]);
}

const SEEDS = [
  agentFrame(AGENT.requestIdentities),
  agentFrame(AGENT.signRequest, strings(blobOf(rsa.publicKey), sshsig('git', 'sha512', someBytes(64))), wireUint32(4)),
  agentFrame(AGENT.signRequest, strings(blobOf(rsa.publicKey), sshsig('file', 'sha256', someBytes(32))), wireUint32(2)),
  agentFrame(AGENT.signRequest, strings(blobOf(ec.publicKey), login(someBytes(32), 'deploy')), wireUint32(0)),
  agentFrame(
    AGENT.signRequest,
    strings(blobOf(ec.publicKey), login(someBytes(64), 'root', someBytes(51))),
    wireUint32(0),
  ),
  agentFrame(17, someBytes(40)),
];

/** Mutates a frame: changes bits, bytes or lengths, truncates it, removes a part, or joins two frames. */
function mutated(): Buffer {
  const bytes = Buffer.from(SEEDS[dice.next(SEEDS.length)] ?? Buffer.alloc(0));
  for (let changes = dice.next(4); changes > 0; changes -= 1) {
    const at = dice.next(bytes.length);
    const kind = dice.next(4);
    if (kind === 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.next(8));
    else if (kind === 1) bytes[at] = dice.next(256);
    else if (kind === 2 && at + 4 <= bytes.length)
      bytes.writeUInt32BE([0, 1, 255, 65_536, 0x7fffffff, 0xffffffff][dice.next(6)] ?? 0, at);
    else return Buffer.concat([bytes.subarray(0, at), someBytes(dice.next(8)), bytes.subarray(at + dice.next(4))]);
  }
  return bytes;
}

/** Rebuilds the message from the parts shown to approvers. */
function messageShown({ shown = {} }: SignatureOrder): Buffer {
  const { namespace, hash = '', messageDigest = '', session = '', user = '', hostKey } = shown;
  if (namespace !== undefined) return sshsig(namespace, hash, Buffer.from(messageDigest, 'hex'));
  return login(Buffer.from(session, 'hex'), user, hostKey === undefined ? undefined : Buffer.from(hostKey, 'base64'));
}

const counts = { frames: 0, closed: 0, failures: 0, identities: 0, signatures: 0, wrong: 0 };
const alive = new AbortController();
const source = {
  keys: () => Promise.resolve(KEYS),
  sign(order: SignatureOrder): Promise<SignatureResult> {
    counts.signatures += 1;
    const expected = createHash(order.algorithm).update(messageShown(order)).digest();
    const isForIt = order.key.purpose === order.purpose;
    if (!expected.equals(order.digest) || !isForIt) counts.wrong += 1;
    return Promise.resolve({ kind: 'signed', signature: Buffer.alloc(order.key.type === 'ec-p256' ? 64 : 256, 1) });
  },
};

const FRAMES_OF_A_CONNECTION = 100;
let connection = new SshAgentConnection(source, alive.signal);

async function send(bytes: Buffer): Promise<void> {
  counts.frames += 1;
  if (counts.frames % FRAMES_OF_A_CONNECTION === 0) connection = new SshAgentConnection(source, alive.signal);
  const frames = new AgentFrames();
  const cut = dice.next(bytes.length + 1);
  try {
    for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)])
      for (const message of frames.add(piece)) {
        const answer = await connection.answer(message);
        if (answer[4] === AGENT.failure) counts.failures += 1;
        if (answer[4] === AGENT.identitiesAnswer) counts.identities += 1;
      }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    counts.closed += 1;
  }
}

for (let i = 0; i < 20_000; i += 1) await send(mutated());
const before = heldMemory();
const started = performance.now();
while (counts.frames < FRAMES) await send(mutated());
const growthMb = (heldMemory() - before) / (1 << 20);
const seconds = (performance.now() - started) / 1000;
process.stdout.write(
  `${JSON.stringify({ ...counts, growthMb: Number(growthMb.toFixed(1)), seconds: Number(seconds.toFixed(1)) })}\n`,
);
process.exitCode = counts.wrong > 0 || counts.signatures === 0 || growthMb > MAX_GROWTH_MB ? 1 : 0;
