import type { StreamedLeaf } from './formats/streamed-leaf.js';

/** Sends leaves to one receiver, in order, until an error occurs. Afterwards another sender starts at the cursor. */
export interface StreamSender {
  /**
   * Passes a prefix of the leaves to the receiver, and waits while the receiver accepts no data. Returns the number of leaves passed, at least one. Rejects
   * on failure.
   */
  send(leaves: readonly [StreamedLeaf, ...StreamedLeaf[]]): Promise<number>;
  /**
   * Returns the number of the first leaf that the receiver does not have; undefined if the number has not changed. Rejects if the receiver may have lost
   * unacknowledged leaves. `idle` means that no leaves are waiting to be sent.
   */
  acknowledged(idle: boolean): Promise<number | undefined>;
  /** Closes open connections, even if a request is in progress. */
  close(): void;
}

/** ReceiverRefused is thrown if the receiver rejects a request. `retryAfterSeconds` is the delay that the receiver asked for. */
export class ReceiverRefused extends Error {
  constructor(
    message: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}
