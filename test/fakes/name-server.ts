import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns';
import { once } from 'node:events';
import type { NameLookup } from '../../src/platform/outbound/name-lookup.js';

const TYPE_A = 1;

/** A DNS server (RFC 1035) that answers A queries as the test specifies, with a TTL of 0. */
export class NameServer {
  /** Names queried, in order. */
  readonly asked: string[] = [];
  private readonly socket: Socket = createSocket('udp4');
  private answer: (question: number) => string[] = () => [];

  async start(): Promise<void> {
    this.socket.on('message', (query, peer) => this.socket.send(this.answerTo(query), peer.port, peer.address));
    this.socket.bind(0, '127.0.0.1');
    await once(this.socket, 'listening');
  }

  /** Sets the answers. `answer` receives the number of the query since this call, starting at 0. */
  says(answer: (question: number) => string[]): void {
    this.asked.length = 0;
    this.answer = answer;
  }

  /** Returns a resolver that uses this server. */
  get lookup(): NameLookup {
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${this.socket.address().port}`]);
    return (name, _options, done) =>
      resolver.resolve4(name, (error, found?: string[]) =>
        done(
          error,
          (found ?? []).map((address) => ({ address, family: 4 })),
        ),
      );
  }

  stop(): void {
    this.socket.close();
  }

  private answerTo(query: Buffer): Buffer {
    const end = query.indexOf(0, 12) + 5; // the name with its terminating 0, type and class
    const question = query.subarray(12, end);
    const addresses = question.readUInt16BE(question.length - 4) === TYPE_A ? this.answer(this.asked.length) : [];
    this.asked.push(nameOf(question));
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8580, 2); // authoritative answer without error
    header.writeUInt16BE(addresses.length, 6);
    header.fill(0, 8);
    const records = addresses.map((address) =>
      Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
    );
    return Buffer.concat([header, question, ...records]);
  }
}

function nameOf(question: Buffer): string {
  const labels: string[] = [];
  for (let at = 0, length = question[0] ?? 0; length > 0; at += length + 1, length = question[at] ?? 0) {
    labels.push(question.toString('latin1', at + 1, at + 1 + length));
  }
  return labels.join('.');
}
