/** Key of the transaction-level advisory lock that makes the sequencer of the log one among all processes. */
export const SEQUENCER_LOCK = 0x5ea1_0610;
