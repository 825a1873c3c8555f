import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { StreamDestination } from '../../platform/config/stream-destinations.js';
import type { OutboundClient } from '../../platform/outbound/outbound-client.js';
import { CLIENT_CIPHERS } from '../../platform/outbound/tls-ciphers.js';

/** Timeouts of a connection, in milliseconds. */
export interface SyslogPatience {
  /** Covers everything from the DNS lookup to the end of the handshake. */
  readonly connectMs: number;
  /** Maximum time without progress, and maximum time for the receiver to close a connection. */
  readonly stallMs: number;
}

export const SYSLOG_PATIENCE: SyslogPatience = { connectMs: 10_000, stallMs: 30_000 };

/**
 * A connection to a syslog receiver over TLS (RFC 5425). The receiver sends no acknowledgements. Only the end of the connection shows what was read: after
 * the sender's close_notify, the receiver closes the connection cleanly if it has read everything, and otherwise resets the connection.
 */
export class SyslogConnection {
  private readonly closed = Promise.withResolvers<void>();
  private reason: Error | undefined;
  private isEnding = false;
  private isFlushed = false;

  private constructor(
    private readonly socket: TLSSocket,
    private readonly patience: SyslogPatience,
  ) {
    // Data from a receiver is read and discarded: unread data would cause a reset when the connection closes.
    socket.resume();
    socket.setKeepAlive(true, 10_000);
    socket.once('finish', () => {
      this.isFlushed = true;
    });
    socket.once('end', () => this.fails(new Error('the receiver closed the connection'), !this.isFlushed));
    socket.on('error', (error) => this.fails(error));
    socket.once('close', () => {
      this.fails(new Error('the connection was lost'), !this.isEnding);
      this.closed.resolve();
    });
  }

  /** Opens a connection to a permitted IP address. Certificate files are read again for each connection. */
  static async open(
    { url, files }: StreamDestination,
    outbound: Pick<OutboundClient, 'addressOf'>,
    patience = SYSLOG_PATIENCE,
  ): Promise<SyslogConnection> {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const signal = AbortSignal.timeout(patience.connectMs);
    const address = await outbound.addressOf(host);
    signal.throwIfAborted();
    const read = (path: string | undefined) => (path === undefined ? undefined : readFileSync(path));
    const socket = connect({
      host: address,
      port: Number(url.port),
      minVersion: 'TLSv1.2',
      ciphers: CLIENT_CIPHERS,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ca: read(files.ca),
      cert: read(files.cert),
      key: read(files.key),
    });
    const late = () => void socket.destroy(new Error('the receiver did not respond in time'));
    signal.addEventListener('abort', late);
    try {
      await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    } finally {
      signal.removeEventListener('abort', late);
    }
    return new SyslogConnection(socket, patience);
  }

  /** Reason why nothing more can be sent, or why sent leaves may be lost; undefined if there is no fault. */
  get fault(): Error | undefined {
    return this.reason;
  }

  /** Resolves when the operating system has accepted the text, so that a slow receiver slows its sender down. */
  async write(text: string): Promise<void> {
    if (this.reason !== undefined) throw this.reason;
    if (this.socket.write(text)) return;
    await this.orStalls('the receiver stopped reading', (done) => this.socket.once('drain', done));
  }

  /** Closes the connection cleanly. Resolves once the receiver has closed the connection as well, which shows that the receiver has read everything. */
  async end(): Promise<void> {
    if (this.reason !== undefined) throw this.reason;
    this.isEnding = true;
    this.socket.end();
    await this.orStalls('the receiver did not close the connection', (done) => void this.closed.promise.then(done));
  }

  destroy(): void {
    this.fails(new Error('the connection was closed'));
    this.socket.destroy();
  }

  /** Waits for an event, the end of the connection, or the stall timeout. */
  private async orStalls(complaint: string, listen: (done: () => void) => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => this.socket.destroy(new Error(complaint)), this.patience.stallMs);
    listen(resolve);
    await Promise.race([promise, this.closed.promise]);
    clearTimeout(timer);
    if (this.reason !== undefined) throw this.reason;
  }

  private fails(reason: Error, isFault = true): void {
    if (isFault) this.reason ??= reason;
  }
}
