import type { ErrandName, Errands } from './errands.js';
import type { Outcome } from './key-process-fault.js';

/** First message to the key process. It alone carries the PIN: neither the environment nor the arguments do. */
export interface StartMessage {
  readonly kind: 'start';
  readonly library: string;
  readonly tokenLabel: string;
  readonly pin: string;
  readonly sessions: number;
  readonly deadlineMs: number;
}

interface ErrandOf<Name extends ErrandName> {
  readonly kind: 'errand';
  readonly id: number;
  readonly name: Name;
  readonly order: Errands[Name]['order'];
}
export type ErrandMessage = { [Name in ErrandName]: ErrandOf<Name> }[ErrandName];

/** Blocks of orders travel as bare bytes, see order-codec. */
export type ToKeyProcess = StartMessage | ErrandMessage | Uint8Array;

/** The token is open, logged in and has signed with the canary key. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly tokenLabel: string;
  readonly sessions: number;
}

export interface ErrandEndMessage {
  readonly kind: 'errand-end';
  readonly id: number;
  readonly outcome: Outcome;
  /** One line for the operator when the outcome is not done. */
  readonly detail: string;
  /** Present when the outcome is done. */
  readonly answer?: Errands[ErrandName]['answer'];
}

/** Sent about once a second, so that silence means that the process hangs. */
export interface AliveMessage {
  readonly kind: 'alive';
}

/** The last message: the process ends itself after it, so what it still has to tell comes in the same one. */
export interface LastMessage {
  readonly kind: 'last';
  /** `stuck`: a call exceeded its deadline. `login`: the token refused the PIN, so that nobody may try again. */
  readonly why: 'fatal' | 'stuck' | 'login';
  readonly detail: string;
  /** A block of results, which may be empty. */
  readonly results: Uint8Array;
  readonly errandEnd?: ErrandEndMessage;
}

export type FromKeyProcess = ReadyMessage | ErrandEndMessage | AliveMessage | LastMessage | Uint8Array;
