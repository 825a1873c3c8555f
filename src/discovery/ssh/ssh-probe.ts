import { wireString } from '../../formats/ssh/wire.js';
import { createHash } from 'node:crypto';
import { BoundedStream, ProbeFault } from '../probing/bounded-stream.js';
import { isSignedBy } from '../../formats/ssh/ssh-signature.js';
import { isPostQuantum, KEY_AGREEMENTS, type KeyAgreement } from './key-agreements.js';
import type { KexInit } from '../../formats/ssh/kex-init.js';
import { MSG, readKexInit, readPacket, readVersion, MessageReader, writeKexInit, writePacket } from './ssh-wire.js';

const CLIENT = 'SSH-2.0-Sealwright_scan';
const LIMITS = { connectMs: 4000, totalMs: 10_000, maxBytes: 64 * 1024 };

/**
 * Signature algorithms by host key type. The probe requests the first algorithm of each type that the server offers, one per connection. With the connection of
 * the sweep, a server sees up to four connections without a login, which sshd penalizes.
 */
const HOST_KEY_TYPES: readonly (readonly string[])[] = [
  ['ssh-ed25519'],
  ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'],
  ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'],
];

export interface ProbedHostKey {
  /** Public key in the encoding of RFC 4253 section 6.6. */
  readonly blob: Buffer;
  /** Whether the server signed this connection's key exchange with the key. */
  readonly proven: boolean;
  /** Key exchange that the probe and the server completed. */
  readonly kex: string;
}

/** Facts that an SSH server sends before authentication. */
export interface SshFacts {
  /** Complete version line, such as `SSH-2.0-OpenSSH_9.2p1 Debian-2`. */
  readonly version: string;
  readonly algorithms: KexInit;
  readonly hostKeys: ProbedHostKey[];
  /** Post-quantum key exchanges, in the server's order of preference. */
  readonly postQuantum: string[];
  /** Whether the server supports strict key exchange, the mitigation for CVE-2023-48795. */
  readonly strictKex: boolean;
  /** Host key types that the server offers but whose keys were not read. */
  readonly unread: string[];
}

/** probeSsh probes an SSH server without logging in, using up to three sequential connections. Throws ProbeFault. */
export async function probeSsh(host: string, port: number): Promise<SshFacts> {
  const first = await visit(host, port, undefined);
  const { version, algorithms } = first;
  const hostKeys = first.hostKey === undefined ? [] : [first.hostKey];
  const kex = Object.keys(KEY_AGREEMENTS).some((name) => algorithms.kex.includes(name));
  for (const types of HOST_KEY_TYPES) {
    const wanted = types.find((name) => algorithms.hostKey.includes(name));
    if (!kex || wanted === undefined || wanted === first.asked) continue;
    const next = await visit(host, port, wanted).catch(() => undefined);
    if (next === undefined) break; // probably throttled; the facts collected so far are still valid
    if (next.hostKey !== undefined) hostKeys.push(next.hostKey);
  }
  const read = new Set(hostKeys.map(({ blob }) => new MessageReader(blob).string().toString('latin1')));
  return {
    version,
    algorithms,
    hostKeys,
    postQuantum: algorithms.kex.filter(isPostQuantum),
    strictKex: algorithms.kex.includes('kex-strict-s-v00@openssh.com'),
    unread: algorithms.hostKey.filter((name) => !read.has(keyTypeOf(name))),
  };
}

/** Returns the key type of a signature algorithm (RFC 8332 section 3). */
function keyTypeOf(algorithm: string): string {
  return algorithm.startsWith('rsa-sha2-') ? 'ssh-rsa' : algorithm;
}

interface Visit {
  readonly version: string;
  readonly algorithms: KexInit;
  readonly asked?: string;
  readonly hostKey?: ProbedHostKey;
}

/** Opens one connection and reads the version, KEXINIT and, if a key exchange is possible, the host key for the requested algorithm. */
async function visit(host: string, port: number, wanted: string | undefined): Promise<Visit> {
  const stream = await BoundedStream.open(host, port, LIMITS);
  try {
    stream.write(Buffer.from(`${CLIENT}\r\n`));
    const version = await readVersion(stream);
    const theirs = await readPacket(stream);
    const algorithms = readKexInit(theirs);
    const asked = wanted ?? HOST_KEY_TYPES.flat().find((name) => algorithms.hostKey.includes(name));
    const kex = Object.keys(KEY_AGREEMENTS).find((name) => algorithms.kex.includes(name));
    const facts = { version: harmless(version), algorithms };
    if (asked === undefined || kex === undefined) return facts;
    const hostKey = await exchange(stream, { kex, asked, version, theirs, algorithms });
    return { ...facts, asked, hostKey };
  } finally {
    stream.close();
  }
}

interface Opening {
  readonly kex: string;
  readonly asked: string;
  readonly version: string;
  readonly theirs: Buffer;
  readonly algorithms: KexInit;
}

/** Performs a key exchange (RFC 4253 section 8) up to the server's signature. The connection is then closed, so no encryption keys are needed. */
async function exchange(stream: BoundedStream, opening: Opening): Promise<ProbedHostKey> {
  const { kex, asked, version, theirs, algorithms } = opening;
  const agreement = KEY_AGREEMENTS[kex]?.();
  if (agreement === undefined) throw new Error('the key exchange is unknown');
  const ours = writeKexInit({ ...algorithms, kex: [kex], hostKey: [asked], languagesIn: [], languagesOut: [] });
  writePacket(stream, ours);
  writePacket(stream, Buffer.concat([Buffer.from([MSG.kexStart]), agreement.sent]));
  const reply = new MessageReader(await readPacket(stream));
  if (reply.byte() !== MSG.kexReply)
    throw new ProbeFault('malformed', 'the server did not respond to the key exchange');
  const [blob, half, signature] = [reply.string(), reply.string(), reply.string()];
  const type = new MessageReader(blob).string().toString('latin1');
  if (type !== keyTypeOf(asked)) throw new ProbeFault('malformed', 'the host key is not of the requested type');
  const exchanged = [Buffer.from(CLIENT), Buffer.from(version, 'latin1'), ours, theirs, blob].map(wireString);
  return { blob, proven: proof(agreement, Buffer.concat(exchanged), half, signature), kex };

  function proof(own: KeyAgreement, transcript: Buffer, received: Buffer, sealed: Buffer): boolean {
    try {
      const answer = own.agree(received);
      const parts = [transcript, own.sent, answer.received, answer.secret];
      return isSignedBy(blob, sealed, createHash(own.hash).update(Buffer.concat(parts)).digest());
    } catch {
      return false; // A server that sends invalid data has not proven anything.
    }
  }
}

function harmless(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 255);
}
