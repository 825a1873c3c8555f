import type { Actor } from '../../access/caller.js';
import type { Mode } from '../cyclonedx/bom-lists.js';
import type { Fault, ProblemKind } from '../../platform/errors/problem.js';
import type { BodyKind } from '../readers/body-reader.js';
import type { IngestOutcome } from '../model/document.js';

/** A body to ingest. The bytes are transferred to the thread, not copied. */
export interface IngestOrder {
  readonly bytes: ArrayBuffer;
  readonly kind: BodyKind;
  readonly mode: Mode;
  /** What the document describes, if the sender names it; else the document does. */
  readonly source: string | undefined;
  /** Opens a key store; it is never stored. */
  readonly password: string | undefined;
  readonly caller: {
    readonly kind: Actor['kind'];
    readonly id: string;
    readonly name: string;
    readonly ownerId: string;
    /** Whether the caller may report for sources of others; absent in orders of the version before, where all may. */
    readonly mayWrite?: boolean;
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
  /** Assets, of `total`. */
  readonly done: number;
  readonly total: number;
}

export type OnProgress = (progress: IngestProgress) => void;

export interface IngestMessage {
  readonly job: number;
  readonly order: IngestOrder;
  /** InstanceHeartbeat.confirmedUntil */
  readonly confirmedUntil: Date | undefined;
  /** Rounds of key derivation that the caller may use now. */
  readonly derivations: number;
}

/** A Problem as one thread sends it to another. */
export interface PlainProblem {
  readonly kind: ProblemKind;
  readonly code: string;
  readonly message: string;
  readonly errors?: Fault[];
}

export interface IngestReply {
  readonly job: number;
  /** A sign of life. */
  readonly alive?: true;
  readonly progress?: IngestProgress;
  /** Rounds of key derivation that the document cost; with its outcome, problem or failure. */
  readonly derivations?: number;
  readonly outcome?: IngestOutcome;
  readonly problem?: PlainProblem;
  /** An error of the service itself. */
  readonly failure?: string;
}
