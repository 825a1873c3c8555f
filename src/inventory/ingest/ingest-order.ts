import type { Mode } from '../cyclonedx/bom-lists.js';
import type { Fault, ProblemKind } from '../../platform/errors/problem.js';
import type { BodyKind } from '../readers/body-reader.js';
import type { IngestOutcome } from '../model/ingest-outcome.js';

/** What a thread is asked to take in. The bytes are handed over, not copied. */
export interface IngestOrder {
  readonly bytes: ArrayBuffer;
  readonly kind: BodyKind;
  readonly mode: Mode;
  /** What the sender says the document is about; else the document says it. */
  readonly source: string | undefined;
  /** Opens a key store; it is used and forgotten. */
  readonly password: string | undefined;
  readonly caller: {
    readonly kind: 'user' | 'api-key' | 'oauth-client' | 'system' | 'anonymous';
    readonly id: string;
    readonly name: string;
    readonly ownerId: string;
    /** Whether he may report for sources of others; absent in orders of the version before, which only such callers gave. */
    readonly mayWrite?: boolean;
  };
  readonly requestId: string;
  readonly address: string;
  readonly idempotencyKey: string | undefined;
}

/** READING and telling assets apart, WRITING them, MERGING what was known with what was said. */
export const INGEST_PHASES = ['READING', 'WRITING', 'MERGING'] as const;
export type IngestPhase = (typeof INGEST_PHASES)[number];

export interface IngestProgress {
  readonly phase: IngestPhase;
  /** Assets, of `total`. */
  readonly done: number;
  readonly total: number;
}

export interface IngestMessage {
  readonly job: number;
  readonly order: IngestOrder;
}

/** A Problem as it crosses from one thread to another. */
export interface PlainProblem {
  readonly kind: ProblemKind;
  readonly code: string;
  readonly message: string;
  readonly errors?: Fault[];
}

export interface IngestReply {
  readonly job: number;
  /** It is not stuck, and says nothing else. */
  readonly alive?: true;
  /** It goes on. */
  readonly progress?: IngestProgress;
  readonly outcome?: IngestOutcome;
  readonly problem?: PlainProblem;
  /** Something that is nobody's fault but ours. */
  readonly failure?: string;
}
