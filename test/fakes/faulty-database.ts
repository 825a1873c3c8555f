import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** ReadyForQuery in state idle (PostgreSQL manual, Message Formats). */
const READY = Buffer.from('5a0000000549', 'hex');
/** ErrorResponse of a session that an administrator terminates. */
const ENDED = errorResponse({ S: 'FATAL', C: '57P01', M: 'terminating connection due to administrator command' });

/**
 * Proxy between the service and PostgreSQL. On command, the proxy terminates each connection in the same packet that reports the connection as ready, or stops
 * forwarding data.
 */
export class FaultyDatabase {
  ended = 0;
  /** Number of packets from the service that were discarded. */
  swallowed = 0;
  private ends = false;
  private silent = false;
  private readonly open = new Set<Socket>();
  private readonly server = createServer((socket) => this.pass(socket));

  constructor(private readonly target: string) {}

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get url(): string {
    const url = new URL(this.target);
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /** Terminates open connections and each new connection. */
  end(): void {
    this.ends = true;
    for (const socket of this.open) socket.destroy();
  }

  endsNone(): void {
    this.ends = false;
  }

  /** Keeps connections open but forwards nothing from now on, like a firewall that drops packets. */
  fallSilent(): void {
    this.silent = true;
  }

  async stop(): Promise<void> {
    this.end();
    this.server.close();
    await once(this.server, 'close');
  }

  private pass(near: Socket): void {
    const { hostname, port } = new URL(this.target);
    const far = connect(Number(port), hostname);
    this.open.add(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
    near.on('close', () => this.open.delete(near));
    near.on('data', (bytes) => {
      if (this.silent) this.swallowed += 1;
      else far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (this.silent) return;
      if (!this.ends || !bytes.subarray(-READY.length).equals(READY)) return void near.write(bytes);
      this.ended += 1;
      near.end(Buffer.concat([bytes, ENDED]));
    });
  }
}

function errorResponse(fields: Record<string, string>): Buffer {
  const body = Object.entries(fields).map(([type, text]) => `${type}${text}\0`);
  const bytes = Buffer.from(`${body.join('')}\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
}
