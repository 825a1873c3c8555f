import type { Socket } from 'node:net';

/** Time without a response to a statement after which the server is checked. */
const SILENCE_MS = 5000;

/** Watched is a monitored connection. */
export interface Watched {
  readonly stream: Socket;
  /** Whether a statement is being executed. */
  readonly isBusy: boolean;
  cut(): void;
}

/**
 * SilenceWatch detects servers that fail silently. A machine that loses power or network closes no connections, and the operating system would wait 15 minutes
 * for a response. If a statement receives no data, the server is checked over a separate connection. If the check also fails, the connection is cut, together
 * with all idle connections to the server, whose next statements would otherwise wait just as long.
 */
export class SilenceWatch {
  private readonly open = new Map<Watched, number>();

  /**
   * @param isThere checks the server with this number and returns false if it does not respond
   * @param silenceMs time without a response after which the server is checked
   */
  constructor(
    private readonly isThere: (server: number) => Promise<boolean>,
    private readonly silenceMs = SILENCE_MS,
  ) {}

  /** Watches a connection to the server with this number until the connection is closed. */
  watch(connection: Watched, server: number): void {
    const { stream } = connection;
    this.open.set(connection, server);
    stream.once('close', () => this.open.delete(connection));
    stream.on('timeout', () => void this.heardNothing(connection, server));
    stream.setTimeout(this.silenceMs);
  }

  private async heardNothing(connection: Watched, server: number): Promise<void> {
    if (!connection.isBusy) return;
    if (await this.isThere(server)) {
      if (connection.isBusy) connection.stream.setTimeout(this.silenceMs);
      return;
    }
    connection.cut();
    for (const [other, itsServer] of this.open) if (itsServer === server && !other.isBusy) other.cut();
  }
}
