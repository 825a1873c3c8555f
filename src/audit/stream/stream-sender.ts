import type { StreamedLeaf } from './formats/streamed-leaf.js';

/** Sends leaves to one receiver, in their order, for as long as nothing fails; after a failure another one begins at the cursor. */
export interface StreamSender {
  /**
   * Hands these to the receiver, or the first of them, and waits while it takes nothing. Answers how many it handed over, at least one.
   * Rejects when it cannot.
   */
  send(leaves: readonly [StreamedLeaf, ...StreamedLeaf[]]): Promise<number>;
  /**
   * The number before which the receiver has everything; undefined while nothing more is known. Rejects when the receiver may have lost
   * what is not acknowledged. `idle`: there is nothing more to send now.
   */
  acknowledged(idle: boolean): Promise<number | undefined>;
  /** Ends what is open, whatever is under way. */
  close(): void;
}

/** The receiver refused; it asked to be left alone for so long. */
export class ReceiverRefused extends Error {
  constructor(
    message: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}
