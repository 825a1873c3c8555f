import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { tmpdir } from 'node:os';
import { serveProgram } from '../../../src/client/agent/pkcs11/connection.js';
import type { AgentKey } from '../../../src/client/agent/signer/agent-keys.js';
import type { SignatureOrder, SignatureResult } from '../../../src/client/agent/signer/remote-signer.js';
import { PrivateSocket } from '../../../src/client/api/private-socket.js';

export type Order = Omit<SignatureOrder, 'purpose'>;

/** The agent's protocol server with a fake signer that records signature requests and returns the responses set by the test. */
export interface SoftwareToken {
  readonly path: string;
  readonly orders: Order[];
  readonly keys: readonly AgentKey[];
  /** Messages shown to the person at the terminal. */
  readonly notes: string[];
  close(): Promise<void>;
}

const LENGTHS: Readonly<Record<string, number>> = { 'rsa-2048': 256, 'ec-p256': 64 };

/** Returns bytes that are as long as a real signature by the key. The bytes differ for every digest. */
export function signatureFor({ key, digest }: Order): Buffer {
  const length = LENGTHS[key.type] ?? 0;
  const seed = createHash('sha512').update(key.name).update(digest).digest();
  return Buffer.concat(Array.from({ length: Math.ceil(length / 64) }, () => seed)).subarray(0, length);
}

export function agentKey(name: string, type: 'rsa-2048' | 'ec-p256'): AgentKey {
  const { publicKey }: { publicKey: KeyObject } =
    type === 'rsa-2048'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { id: name, name, version: 1, type, purpose: 'signing', publicKey: spki, chain: [] };
}

export async function softwareToken(
  keys: readonly AgentKey[],
  sign: (order: Order) => Promise<SignatureResult> | SignatureResult = (order) => ({
    kind: 'signed',
    signature: signatureFor(order),
  }),
): Promise<SoftwareToken> {
  const orders: Order[] = [];
  const notes: string[] = [];
  const source = {
    keys: () => Promise.resolve(keys),
    sign: async (order: Order) => {
      orders.push(order);
      return sign(order);
    },
    asksForPin: false,
    note: (line: string) => void notes.push(line),
  };
  const socket = await PrivateSocket.temporary(tmpdir(), 'pkcs11', (one) => serveProgram(one, source));
  return { path: socket.path, orders, keys, notes, close: () => socket.close() };
}
