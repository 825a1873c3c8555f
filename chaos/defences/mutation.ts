/** A defence, and the change that removes the defence from the sources. Without the defence, an assertion in the tests of `spec` must fail. */
export interface Mutation {
  /** Number of the finding in docs/attacks.md. */
  readonly finding: number;
  /** Description of the defence for the table of results. */
  readonly defence: string;
  /** Path from the repository root. */
  readonly file: string;
  /** Text of the defence, which occurs in the file exactly once. */
  readonly text: string;
  readonly instead: string;
  /** Path of the test file for the defence. */
  readonly spec: string;
  /** Text that the names of the tests to run contain, if only some of the file's tests concern the defence. */
  readonly test?: string;
}
