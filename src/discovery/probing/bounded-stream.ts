import { connect, type Socket } from 'node:net';

/** Reasons why a probe failed. Each code maps to a scan outcome. */
export type ProbeFaultCode = 'closed' | 'timeout' | 'throttled' | 'flood' | 'malformed' | 'hung-up';

export class ProbeFault extends Error {
  constructor(
    readonly code: ProbeFaultCode,
    message: string,
  ) {
    super(message);
  }
}

const OWN_FAULT_CODES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

/** isOwnFault returns true if the connection failed because this machine lacks sockets, ports or memory. Such a failure indicates nothing about the server. */
export function isOwnFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && OWN_FAULT_CODES.has(String(error.code));
}

interface Limits {
  readonly connectMs: number;
  /** Time limit for everything after the connection is established. */
  readonly totalMs: number;
  /** Limit for the total number of bytes received. */
  readonly maxBytes: number;
}

/**
 * BoundedStream is a connection to a server that may hang, send invalid data, or send too much data. Every wait has a timeout, and the number of bytes is
 * limited. Throws ProbeFault.
 */
export class BoundedStream {
  private chunks: Buffer[] = [];
  private buffered = 0;
  private received = 0;
  private fault: ProbeFault | undefined;
  private wake: (() => void) | undefined;
  private readonly timer: NodeJS.Timeout;

  private constructor(
    private readonly socket: Socket,
    private readonly limits: Limits,
  ) {
    this.timer = setTimeout(() => this.end(new ProbeFault('timeout', 'took too long')), limits.totalMs);
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('error', () => this.end(this.hungUp()));
    socket.on('close', () => this.end(this.hungUp()));
  }

  static open(host: string, port: number, limits: Limits): Promise<BoundedStream> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true });
      const timer = setTimeout(() => {
        socket.destroy();
        reject(new ProbeFault('timeout', 'no response to the connection'));
      }, limits.connectMs);
      socket.once('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        if (isOwnFault(error)) return reject(error);
        reject(new ProbeFault(error.code === 'ECONNREFUSED' ? 'closed' : 'timeout', error.code ?? 'no connection'));
      });
      socket.once('connect', () => {
        clearTimeout(timer);
        socket.removeAllListeners('error');
        resolve(new BoundedStream(socket, limits));
      });
    });
  }

  write(bytes: Buffer): void {
    if (this.fault === undefined) this.socket.write(bytes);
  }

  async read(length: number): Promise<Buffer> {
    while (this.buffered < length) await this.more();
    const all = Buffer.concat(this.chunks);
    this.keep(all.subarray(length));
    return all.subarray(0, length);
  }

  /** Reads a line and returns it without its line feed and a preceding carriage return. */
  async readLine(maxLength: number): Promise<string> {
    for (;;) {
      const all = Buffer.concat(this.chunks);
      const end = all.indexOf(10);
      if (end >= 0 && end <= maxLength) {
        this.keep(all.subarray(end + 1));
        return all.toString('latin1', 0, end).replace(/\r$/, '');
      }
      if (all.length > maxLength) throw new ProbeFault('flood', 'sent an unterminated line');
      this.chunks = [all];
      await this.more();
    }
  }

  close(): void {
    clearTimeout(this.timer);
    this.socket.destroy();
  }

  private keep(rest: Buffer): void {
    this.chunks = [rest];
    this.buffered = rest.length;
  }

  private async more(): Promise<void> {
    if (this.fault !== undefined) throw this.fault;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    if (this.fault !== undefined && this.buffered === 0) throw this.fault;
  }

  private take(chunk: Buffer): void {
    this.received += chunk.length;
    this.chunks.push(chunk);
    this.buffered += chunk.length;
    if (this.received > this.limits.maxBytes)
      this.end(new ProbeFault('flood', 'sent more data than a handshake needs'));
    this.wake?.();
  }

  private end(fault: ProbeFault): void {
    this.fault ??= fault;
    this.close();
    this.wake?.();
  }

  private hungUp(): ProbeFault {
    return this.received === 0
      ? new ProbeFault('throttled', 'closed the connection before sending any data')
      : new ProbeFault('hung-up', 'closed the connection');
  }
}
