import ssh2 from 'ssh2';
import type { AnyAuthMethod } from 'ssh2';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Problem } from '../../platform/errors/problem.js';
import { type Address, formatAddress } from '../../formats/encoding/ip-address.js';
import type { Login } from '../model/ssh-session.port.js';
import { HostOffer } from './host-offer.js';
import { OneKeyAgent } from './one-key-agent.js';
import { faultBeforeLogin, lost, notSsh, throttled, unreachable } from './ssh-fault.js';
import { truncate } from '../../platform/text/truncate.js';
import { ownProperty } from '../../formats/encoding/own-property.js';

/** Maximum bytes that a host may send before a login has succeeded. */
const MAX_BYTES_BEFORE_LOGIN = 256 * 1024;
const HOST_KEY_ALGORITHMS: Record<string, readonly string[]> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
};

/** Maximum number of unanswered keep-alive messages. The connection is considered lost when the next message is due, after `timeoutMs` without data. */
const UNANSWERED = 2;

/** Algorithms for old hosts, enabled by the host's `legacyAlgorithms`. */
const LEGACY = {
  hostKeys: ['ssh-rsa'],
  kex: ['diffie-hellman-group14-sha1', 'diffie-hellman-group1-sha1'],
  ciphers: ['aes256-cbc', 'aes192-cbc', 'aes128-cbc', '3des-cbc'],
} as const;

/**
 * Key exchange methods that the service does not offer, because key exchange happens before the host has proved possession of its key. In a group exchange,
 * the host chooses the group, and one packet with an 8,192-bit prime blocks the process for half a minute. The other methods in this list use the largest
 * fixed groups.
 */
const COSTLY_KEX = [
  'diffie-hellman-group-exchange-sha256',
  'diffie-hellman-group-exchange-sha1',
  'diffie-hellman-group17-sha512',
  'diffie-hellman-group18-sha512',
] as const;

export interface Handshake {
  /** A socket, or a channel through a jump host. */
  readonly stream: Duplex;
  readonly login: Login;
  /** Time limit in milliseconds for the login, and later for each period in which the host sends nothing, even while commands are running. */
  readonly timeoutMs: number;
  /** Whether SHA-1 algorithms and CBC-mode ciphers are also allowed, with the lowest preference. */
  readonly allowsLegacy?: boolean;
  /** Types of the known host keys. These types are preferred, so that a host with several keys presents a known key. */
  readonly keyTypes: readonly string[];
  /** Called with the host key before authentication. A returned Problem ends the connection. */
  readonly judge: (hostKey: Buffer) => Problem | undefined;
  /** Called after the host has proved possession of the presented key with a signature. */
  readonly proven: () => void;
}

export interface LoggedIn {
  readonly client: ssh2.Client;
  /** Host key. The host's signature over this connection was verified with the key. */
  readonly hostKey: Buffer;
  /** Software version of the host, for example `OpenSSH_9.2p1 Debian-2`. */
  readonly software: string;
}

/** Negotiates the connection, checks the host key, and logs in. Exactly one login is tried. Throws the problems in ssh-fault.ts. */
export function sshHandshake(handshake: Handshake): Promise<LoggedIn> {
  const { stream, login, timeoutMs, allowsLegacy = false, keyTypes, judge, proven } = handshake;
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client();
    let refusal: Problem | undefined;
    let hostKey: Buffer | undefined;
    let bytes = 0;
    const offer = new HostOffer(login);
    const fail = (problem: Problem) => {
      stream.off('data', count);
      client.on('error', () => undefined);
      client.end();
      stream.destroy();
      reject(problem);
    };
    const count = (chunk: Buffer) => {
      bytes += chunk.length;
      offer.take(chunk);
      if (bytes > MAX_BYTES_BEFORE_LOGIN) fail(notSsh(new Error('flood before login')));
    };
    client.once('handshake', () => {
      offer.followExtensions(client);
      proven();
    });
    client.once('ready', () => {
      stream.off('data', count);
      const software = (client as ssh2.Client & { _remoteVer?: string })._remoteVer ?? '';
      resolve({ client, hostKey: hostKey ?? Buffer.alloc(0), software: truncate(software, 255) });
    });
    client.once('error', (error) => fail(refusal ?? faultBeforeLogin(error, bytes, offer)));
    client.once('close', () => fail(refusal ?? (bytes === 0 ? throttled() : lost())));
    stream.on('data', count);
    try {
      client.connect({
        sock: stream,
        username: login.user,
        readyTimeout: timeoutMs,
        keepaliveInterval: Math.ceil(timeoutMs / (UNANSWERED + 1)),
        keepaliveCountMax: UNANSWERED,
        authHandler: [
          methodOf(login, (problem) => {
            refusal = problem;
          }),
        ],
        algorithms: algorithmsFor(keyTypes, allowsLegacy),
        hostVerifier: (key: Buffer) => {
          hostKey = key;
          refusal = judge(key);
          return refusal === undefined;
        },
      });
    } catch (error) {
      fail(error as Problem); // The credential is unusable. Nothing has been sent.
    }
  });
}

function algorithmsFor(keyTypes: readonly string[], allowsLegacy: boolean): ssh2.Algorithms {
  const known = keyTypes.flatMap((type) => ownProperty(HOST_KEY_ALGORITHMS, type) ?? []);
  const hostKeys = [...new Set([...known, ...Object.values(HOST_KEY_ALGORITHMS).flat()])];
  const kex = { append: allowsLegacy ? [...LEGACY.kex] : [], prepend: [], remove: [...COSTLY_KEX] };
  if (!allowsLegacy) return { serverHostKey: hostKeys as ssh2.ServerHostKeyAlgorithm[], kex };
  return {
    serverHostKey: [...hostKeys, ...LEGACY.hostKeys] as ssh2.ServerHostKeyAlgorithm[],
    kex,
    cipher: { append: [...LEGACY.ciphers], prepend: [], remove: [] },
  };
}

function methodOf(login: Login, failed: (problem: Problem) => void): AnyAuthMethod {
  switch (login.kind) {
    case 'private-key': {
      const key = ssh2.utils.parseKey(login.privateKey, login.passphrase);
      if (key instanceof Error)
        throw new Problem('conflict', 'host.no-credential', 'The private key cannot be parsed.');
      return { type: 'publickey', username: login.user, key };
    }
    case 'password':
      return { type: 'password', username: login.user, password: login.password };
    case 'signer':
      return { type: 'agent', username: login.user, agent: new OneKeyAgent(login, failed) };
  }
}

interface Route {
  readonly port: number;
  readonly timeoutMs: number;
  /** Local address of the connection. */
  readonly localAddress?: string;
}

/** Connects to the first address that responds. Throws Problem `host.unreachable`. */
export async function openSocket(addresses: readonly Address[], route: Route): Promise<Socket> {
  let last: unknown;
  for (const address of addresses) {
    try {
      return await connected(formatAddress(address), route);
    } catch (error) {
      last = error;
    }
  }
  throw unreachable(last);
}

function connected(host: string, { port, timeoutMs, localAddress }: Route): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, localAddress, noDelay: true });
    const timer = setTimeout(() => socket.destroy(new Error('no response in time')), timeoutMs);
    socket.once('error', reject);
    socket.once('close', () => clearTimeout(timer));
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
