import type { DestroyOrder, GeneratedKey, SealOrder, UnsealOrder } from './key-vault.js';
import type { AcceptedLog, CheckpointAnswer, CheckpointOrder, LogAnchor, NewLogOrder } from './log-anchor.js';
import type { SealedSignOrder } from './software-keys.js';
import type { GenerateOrder } from './token-generator.js';

/** What the key process does besides signing digests: seldom enough to travel as objects. Buffers arrive as Uint8Array. */
export interface KeyProcessCalls {
  readonly generate: { readonly order: GenerateOrder; readonly answer: GeneratedKey };
  readonly destroy: { readonly order: DestroyOrder; readonly answer: { readonly destroyed: number } };
  readonly signSealed: { readonly order: SealedSignOrder; readonly answer: Uint8Array };
  readonly seal: { readonly order: SealOrder; readonly answer: Uint8Array };
  readonly generateLogKey: { readonly order: NewLogOrder; readonly answer: GeneratedKey };
  readonly logAnchor: { readonly order: { readonly origin: string }; readonly answer: { readonly anchor?: LogAnchor } };
  readonly signCheckpoint: { readonly order: CheckpointOrder; readonly answer: CheckpointAnswer };
  readonly acceptLog: { readonly order: AcceptedLog; readonly answer: { readonly anchor?: LogAnchor } };
  readonly unseal: { readonly order: UnsealOrder; readonly answer: Uint8Array };
}
export type CallName = keyof KeyProcessCalls;

/** A handler for each call. */
export type CallHandlers = {
  readonly [Name in CallName]: (order: KeyProcessCalls[Name]['order']) => Promise<KeyProcessCalls[Name]['answer']>;
};
