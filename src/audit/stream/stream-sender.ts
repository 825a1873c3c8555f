import type { StreamedLeaf } from './formats/streamed-leaf.js';

/** Sends leaves to one receiver, in order, until an error occurs. Afterwards another sender starts at the cursor. */
export interface StreamSender {
  /**
   * Passes the leaves, or the first of them, to the receiver, and waits while the receiver accepts nothing. Returns the number of leaves passed, at
   * least one. Rejects on failure.
   */
  send(leaves: readonly [StreamedLeaf, ...StreamedLeaf[]]): Promise<number>;
  /**
   * Returns the number of the first leaf that the receiver does not have; undefined if it is unchanged. Rejects if the receiver may have lost
   * unacknowledged leaves. `idle` means that there is nothing more to send at present.
   */
  acknowledged(idle: boolean): Promise<number | undefined>;
  /** Closes open connections, even if a request is in progress. */
  close(): void;
}

/** The receiver rejected the request and asked the sender to wait for this long. */
export class ReceiverRefused extends Error {
  constructor(
    message: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}
