/** One defence, and how it is taken out of the sources: the tests of `spec` must fail then, by what they assert. */
export interface Mutation {
  /** Number of the finding in docs/attacks.md. */
  readonly finding: number;
  /** The defence, as a reader of the table of results needs it. */
  readonly defence: string;
  /** Path from the root. */
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly text: string;
  readonly instead: string;
  /** Path of the file of tests that watches the defence. */
  readonly spec: string;
  /** Part of the names of the tests to run, for a file of which only some are about the defence. */
  readonly test?: string;
}
