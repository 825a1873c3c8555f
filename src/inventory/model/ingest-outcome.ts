/** One item that was not taken. `index` counts from 0 in the list that was sent. */
export interface Rejection {
  readonly index: number;
  /** RFC 6901, into the body. */
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** Something that was put right (repair mode) or that deserves a look; the rest of the document was taken. */
export interface Remark {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** received = created + updated + unchanged + rejected: two entries for one asset count as one change. */
export interface IngestOutcome {
  readonly documentId: string;
  readonly source: string;
  readonly format: string;
  readonly received: number;
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Components without any tie to cryptography: counted, not kept. */
  readonly ignored: number;
  readonly rejected: readonly Rejection[];
  readonly repairs: readonly Remark[];
  readonly warnings: readonly Remark[];
}
