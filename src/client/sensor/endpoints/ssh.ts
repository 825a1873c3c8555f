import { createECDH, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { type SensorFinding, keyExchange, protocolHere, refOf, usedHere } from '../model/finding.js';
import { publicKeyLine, publicKeyOfBlob } from '../../../formats/ssh/public-key.js';
import { wirePacket, WireReader, wireString } from '../../../formats/ssh/wire.js';
import type { Endpoint } from './endpoint.js';

const HELLO = 'SSH-2.0-Sealwright_sensor';
const TOTAL_MS = 10_000;
const MAX_BYTES = 128 * 1024;
const KEXINIT = 20;
const KEX_START = 30;
const KEX_REPLY = 31;
/** Key exchanges that the sensor performs. Every server supports at least one of them. The shared secret is not used for encryption. */
const EXCHANGES: Readonly<Record<string, string>> = {
  'ecdh-sha2-nistp256': 'prime256v1',
  'ecdh-sha2-nistp384': 'secp384r1',
  'ecdh-sha2-nistp521': 'secp521r1',
};
const KEY_TYPES: readonly (readonly string[])[] = [
  ['ssh-ed25519'],
  ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'],
  ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'],
];

interface Greeting {
  readonly banner: string;
  /** Name lists in the order of RFC 4253 section 7.1: key exchanges, host keys, ciphers, ciphers, MACs, … */
  readonly lists: readonly (readonly string[])[];
  readonly hostKey: Buffer | undefined;
}

/** Finds the algorithms that an SSH server offers before a login, and its host keys. Throws if the server does not respond. */
export async function sshFindings(endpoint: Endpoint): Promise<SensorFinding[]> {
  const place = { location: endpoint.name };
  const first = await greet(endpoint, undefined);
  const [kex = [], hostKeys = [], ciphers = [], , macs = []] = first.lists;
  const blobs: Buffer[] = [];
  for (const types of KEY_TYPES) {
    const wanted = types.find((type) => hostKeys.includes(type));
    const seen = wanted === undefined ? undefined : await greet(endpoint, wanted).catch(() => undefined);
    if (seen?.hostKey !== undefined) blobs.push(seen.hostKey);
  }
  const exchanges = kex.filter((name) => !/^(?:ext-info|kex-strict)/.test(name)).map(keyExchange);
  const keys = blobs.map((blob, i): SensorFinding => ({
    place,
    ref: `host key ${endpoint.name} ${i}`,
    publicKey: publicKeyLine(publicKeyOfBlob(blob)),
  }));
  const named = (primitive: string) => (name: string) => usedHere({ name, properties: { primitive } }, place);
  const dependsOn = [...exchanges.map(refOf), ...keys.map(({ ref = '' }) => ref)];
  return [
    ...keys,
    ...exchanges.map((algorithm) => usedHere(algorithm, place)),
    ...ciphers.map(named('block-cipher')),
    ...macs.map(named('mac')),
    protocolHere(
      { name: 'SSH', type: 'ssh', version: '2.0', dependsOn },
      { ...place, additionalContext: first.banner },
    ),
  ];
}

/** Opens one connection and reads the identification string, the name lists and, if a host key type is requested, the host key. */
async function greet({ host, port }: Endpoint, wanted: string | undefined): Promise<Greeting> {
  const socket = connect({ host, port });
  const timer = setTimeout(() => socket.destroy(new Error('did not respond in time')), TOTAL_MS);
  const input = new Input(socket);
  try {
    socket.write(`${HELLO}\r\n`);
    const banner = await input.line();
    const theirs = await input.packet();
    if (theirs[0] !== KEXINIT) throw new Error('does not support SSH 2');
    const fields = new WireReader(theirs, 17);
    const lists = Array.from({ length: 10 }, () => fields.text().split(',').filter(Boolean));
    const kex = lists[0]?.find((name) => name in EXCHANGES);
    if (wanted === undefined || kex === undefined) return { banner, lists, hostKey: undefined };
    const own = createECDH(EXCHANGES[kex] ?? 'prime256v1').generateKeys();
    const rest = lists.slice(2, 8).map((names) => names.join(','));
    socket.write(wirePacket(Buffer.concat([Buffer.from([KEXINIT]), randomBytes(16), ...[kex, wanted, ...rest, '', ''].map(wireString), Buffer.alloc(5)]))); // prettier-ignore
    socket.write(wirePacket(Buffer.concat([Buffer.from([KEX_START]), wireString(own)])));
    const reply = await input.packet();
    return {
      banner,
      lists,
      hostKey: reply[0] === KEX_REPLY ? Buffer.from(new WireReader(reply, 1).string()) : undefined,
    };
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** Buffers incoming bytes up to a limit. */
class Input {
  private buffer = Buffer.alloc(0);
  private readonly chunks: AsyncIterator<Buffer>;

  constructor(socket: Socket) {
    this.chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Reads the line that starts with `SSH-`. Servers may send other lines before that line. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.buffer.indexOf('\n');
      if (end === -1) {
        await this.more();
        continue;
      }
      const line = this.buffer.toString('latin1', 0, end).trimEnd();
      this.buffer = this.buffer.subarray(end + 1);
      if (line.startsWith('SSH-')) return line.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 255);
    }
  }

  async packet(): Promise<Buffer> {
    while (this.buffer.length < 5) await this.more();
    const length = this.buffer.readUInt32BE(0);
    if (length > MAX_BYTES) throw new Error('the server sent an oversized packet');
    while (this.buffer.length < 4 + length) await this.more();
    const payload = this.buffer.subarray(5, 4 + length - (this.buffer[4] ?? 0));
    this.buffer = this.buffer.subarray(4 + length);
    return payload;
  }

  private async more(): Promise<void> {
    const { value, done } = await this.chunks.next();
    if (done === true) throw new Error('the server closed the connection');
    this.buffer = Buffer.concat([this.buffer, value]);
    if (this.buffer.length > MAX_BYTES) throw new Error('the server sent an oversized response');
  }
}
