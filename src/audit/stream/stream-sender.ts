import type { StreamedLeaf } from './formats/streamed-leaf.js';

/** Sends leaves to one receiver, in order, until an error occurs. Then another sender starts at the cursor. */
export interface StreamSender {
  /**
   * Passes the leaves, or the first of them, to the receiver, and waits while it accepts nothing. Returns how many it passed, at least one. Rejects on
   * failure.
   */
  send(leaves: readonly [StreamedLeaf, ...StreamedLeaf[]]): Promise<number>;
  /**
   * Returns the number before which the receiver has everything; undefined while it is unchanged. Rejects if the receiver may have lost unacknowledged
   * leaves. `idle`: there is nothing more to send at present.
   */
  acknowledged(idle: boolean): Promise<number | undefined>;
  /** Closes open connections, even if a request is in progress. */
  close(): void;
}

/** The receiver refused the request and asked for this pause. */
export class ReceiverRefused extends Error {
  constructor(
    message: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}
