import type { Actor } from '../../../access/caller.js';
import type { Mode } from '../cyclonedx/bom-lists.js';
import type { Fault, ProblemKind } from '../../../platform/errors/problem.js';
import type { BodyKind } from './body-reader.js';
import type { IngestOutcome } from '../../model/document.js';

/** IngestOrder is a body to ingest. The bytes are transferred to the thread, not copied. */
export interface IngestOrder {
  readonly bytes: ArrayBuffer;
  readonly kind: BodyKind;
  readonly mode: Mode;
  /** Name of the described application or repository, as given by the sender. If undefined, the name in the document is used. */
  readonly source: string | undefined;
  /** Password of a key store. The password is never stored. */
  readonly password: string | undefined;
  readonly caller: {
    readonly kind: Actor['kind'];
    readonly id: string;
    readonly name: string;
    readonly ownerId: string;
    /** Whether the caller may report for sources of other owners. Undefined in orders written by the previous version, which allowed this for every caller. */
    readonly mayWrite?: boolean;
    /** Whether the outcome may reveal what other owners reported. Undefined means true, as in orders written by the previous version. */
    readonly mayRead?: boolean;
  };
  readonly requestId: string;
  readonly address: string;
  readonly idempotencyKey: string | undefined;
}

/** READING: parse and identify. WRITING: COPY of new assets. MERGING: set operations and counts. */
export const INGEST_PHASES = ['READING', 'WRITING', 'MERGING'] as const;
export type IngestPhase = (typeof INGEST_PHASES)[number];

export interface IngestProgress {
  readonly phase: IngestPhase;
  /** Number of processed assets, out of `total`. */
  readonly done: number;
  readonly total: number;
}

export type OnProgress = (progress: IngestProgress) => void;

export interface IngestMessage {
  readonly job: number;
  readonly order: IngestOrder;
  /** Time before which all commits are confirmed (see InstanceHeartbeat.confirmedUntil). */
  readonly confirmedUntil: Date | undefined;
  /** Number of key derivation rounds that the caller has left. */
  readonly derivations: number;
}

/** PlainProblem is a Problem in the format that threads exchange. */
export interface PlainProblem {
  readonly kind: ProblemKind;
  readonly code: string;
  readonly message: string;
  readonly errors?: Fault[];
}

export interface IngestReply {
  readonly job: number;
  /** True for a heartbeat. */
  readonly alive?: true;
  readonly progress?: IngestProgress;
  /** Number of key derivation rounds spent on the document, sent with its outcome, problem or failure. */
  readonly derivations?: number;
  readonly outcome?: IngestOutcome;
  readonly problem?: PlainProblem;
  /** Internal error of the service. */
  readonly failure?: string;
}
