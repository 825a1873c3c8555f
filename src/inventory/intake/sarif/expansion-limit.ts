import { Problem } from '../../../platform/errors/problem.js';

/** Characters that every document may expand to, and those that it may expand to for each of its own characters. */
const MIN_CHARACTERS = 1_000_000;
const EXPANSION = 4;
/** Characters counted for an object that a run refers to in inline external properties. */
export const CHARACTERS_PER_REFERENCE = 256;

/**
 * ExpansionLimit limits the text that a SARIF document yields to a multiple of its size. References let results, artifacts, bases and rules share one
 * long text, and runs share one list of results, so that a small document could otherwise exhaust the memory.
 */
export class ExpansionLimit {
  private left: number;

  /** @param size characters of the document */
  constructor(size: number) {
    this.left = MIN_CHARACTERS + EXPANSION * size;
  }

  /** Counts characters before they are stored. @throws Problem 422 `document.too-costly` if the document exceeds the limit. */
  spend(characters: number): void {
    this.left -= characters;
    if (this.left >= 0) return;
    const detail = `expands to more than ${EXPANSION} times its size: its results repeat long or shared texts; send it in parts`;
    throw new Problem('refused', 'document.too-costly', `The document ${detail}.`, {
      errors: [{ pointer: '/runs', detail }],
    });
  }
}
