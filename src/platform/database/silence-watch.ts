import type { Socket } from 'node:net';

/** So long a server may say nothing to a statement before it is asked whether it is still there. */
const SILENCE_MS = 5000;

/** A connection that is watched. */
export interface Watched {
  readonly stream: Socket;
  /** Whether a statement is under way. */
  readonly isBusy: boolean;
  cut(): void;
}

/**
 * Finds servers that are gone without a word: a machine that lost its power or its network closes no connection, and the system would wait for
 * an answer for a quarter of an hour. While a statement is under way and nothing is heard, the server is asked over a connection of its own;
 * when that is not answered either, the connection is cut, and with it all that are idle: the next statement on each would wait as long.
 */
export class SilenceWatch {
  private readonly open = new Map<Watched, number>();

  /**
   * @param isThere asks the server of this number; answers false when it does not answer.
   * @param silenceMs shorter in tests.
   */
  constructor(
    private readonly isThere: (server: number) => Promise<boolean>,
    private readonly silenceMs = SILENCE_MS,
  ) {}

  /** Watches a connection to the server of this number until it is closed. */
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
