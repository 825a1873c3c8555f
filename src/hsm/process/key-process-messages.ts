import type { CallOutcome } from '../pkcs11/key-process-fault.js';
import type {
  DestroyOrder,
  GeneratedKey,
  SealOrder,
  UnsealOrder,
  AcceptedLog,
  CheckpointAnswer,
  CheckpointOrder,
  HeldKey,
  LogAnchor,
  NewLogOrder,
  RowMarkOrder,
} from '../key-vault.js';

import type { SealedSignOrder } from '../pkcs11/software-keys.js';
import type { GenerateOrder } from '../pkcs11/token-generator.js';

/** Calls to the key process other than signing digests. These calls are rare, so they are sent as objects. Buffers arrive as Uint8Array. */
export interface KeyProcessCalls {
  readonly generate: { readonly order: GenerateOrder; readonly answer: GeneratedKey };
  readonly destroy: { readonly order: DestroyOrder; readonly answer: { readonly destroyed: number } };
  readonly signSealed: { readonly order: SealedSignOrder; readonly answer: Uint8Array };
  readonly seal: { readonly order: SealOrder; readonly answer: Uint8Array };
  readonly generateLogKey: { readonly order: NewLogOrder; readonly answer: GeneratedKey };
  readonly logAnchor: { readonly order: { readonly origin: string }; readonly answer: { readonly anchor?: LogAnchor } };
  readonly rowMark: { readonly order: RowMarkOrder; readonly answer: { readonly since?: number } };
  readonly signCheckpoint: { readonly order: CheckpointOrder; readonly answer: CheckpointAnswer };
  readonly acceptLog: { readonly order: AcceptedLog; readonly answer: { readonly anchor?: LogAnchor } };
  readonly newSealingKey: { readonly order: object; readonly answer: { readonly ckaId: Uint8Array } };
  readonly holdings: {
    readonly order: { readonly label?: string | undefined };
    readonly answer: { readonly keys: readonly HeldKey[] };
  };
  readonly unseal: { readonly order: UnsealOrder; readonly answer: Uint8Array };
}
export type CallName = keyof KeyProcessCalls;

/** The handlers of all calls. */
export type CallHandlers = {
  readonly [Name in CallName]: (order: KeyProcessCalls[Name]['order']) => Promise<KeyProcessCalls[Name]['answer']>;
};

/** First message to the key process. The PIN is only in this message, not in the environment or the arguments. */
export interface StartMessage {
  readonly kind: 'start';
  readonly library: string;
  readonly tokenLabel: string;
  readonly pin: string;
  readonly sessions: number;
  readonly deadlineMs: number;
}

interface CallOf<Name extends CallName> {
  readonly kind: 'call';
  readonly id: number;
  readonly name: Name;
  readonly order: KeyProcessCalls[Name]['order'];
}
export type CallMessage = { [Name in CallName]: CallOf<Name> }[CallName];

/** Informs the process that no further orders follow. A process that returns orders as `unseen` then exits as soon as its started orders are done. */
export interface LeaveMessage {
  readonly kind: 'leave';
}

/** Blocks of orders are sent as raw bytes; see order-codec. */
export type ToKeyProcess = StartMessage | CallMessage | LeaveMessage | Uint8Array;

/** Sent once the token is open, the login has succeeded and the canary key has signed. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly tokenLabel: string;
  readonly sessions: number;
}

export interface ReplyMessage {
  readonly kind: 'reply';
  readonly id: number;
  readonly outcome: CallOutcome;
  /** One line for the operator if the outcome is not done. */
  readonly detail: string;
  /** Present if the outcome is done. */
  readonly answer?: KeyProcessCalls[CallName]['answer'];
}

/** Sent about once a second, so that the parent can detect a hung process. */
export interface AliveMessage {
  readonly kind: 'alive';
}

/** Last message before the process exits, which also contains the last results and the reply. */
export interface LastMessage {
  readonly kind: 'last';
  /** `stuck`: a call exceeded its deadline. `login`: the token rejected the PIN, so no further attempt is allowed. */
  readonly why: 'fatal' | 'stuck' | 'login';
  readonly detail: string;
  /** A block of results, which may be empty. */
  readonly results: Uint8Array;
  readonly reply?: ReplyMessage;
}

export type FromKeyProcess = ReadyMessage | ReplyMessage | AliveMessage | LastMessage | Uint8Array;
