import { connect, type Socket } from 'node:net';
import { isOwnFault } from './own-fault.js';

/** Why nothing could be learnt from whoever answers; each becomes the outcome of a probe. */
export type ProbeFaultCode = 'closed' | 'timeout' | 'throttled' | 'flood' | 'malformed' | 'hung-up';

export class ProbeFault extends Error {
  constructor(
    readonly code: ProbeFaultCode,
    message: string,
  ) {
    super(message);
  }
}

interface Limits {
  readonly connectMs: number;
  /** For everything after the connection. */
  readonly totalMs: number;
  /** Of everything that is received. */
  readonly mostBytes: number;
}

/** A connection to somebody who may hang, lie or flood: every wait and every byte is counted. Throws ProbeFault. */
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
        reject(new ProbeFault('timeout', 'no answer to the connection'));
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

  /** Up to and with the line feed, which is not returned, nor is a carriage return before it. */
  async readLine(most: number): Promise<string> {
    for (;;) {
      const all = Buffer.concat(this.chunks);
      const end = all.indexOf(10);
      if (end >= 0 && end <= most) {
        this.keep(all.subarray(end + 1));
        return all.toString('latin1', 0, end).replace(/\r$/, '');
      }
      if (all.length > most) throw new ProbeFault('flood', 'a line without end');
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
    if (this.received > this.limits.mostBytes) this.end(new ProbeFault('flood', 'more than anybody needs to say'));
    this.wake?.();
  }

  private end(fault: ProbeFault): void {
    this.fault ??= fault;
    this.close();
    this.wake?.();
  }

  private hungUp(): ProbeFault {
    return this.received === 0
      ? new ProbeFault('throttled', 'hung up before it said anything')
      : new ProbeFault('hung-up', 'hung up');
  }
}
