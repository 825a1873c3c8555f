import { Problem } from '../../../platform/errors/problem.js';

/** A document may expand to MIN_CHARACTERS plus EXPANSION times its own size in characters. */
const MIN_CHARACTERS = 1_000_000;
const EXPANSION = 4;
/** CHARACTERS_PER_REFERENCE is the number of characters counted for each object that a run refers to in inline external properties. */
export const CHARACTERS_PER_REFERENCE = 256;

/**
 * ExpansionLimit limits the text that is read from a SARIF document to a multiple of the document's size. Without the limit, a small document could exhaust the
 * memory: through references, many results, artifacts, bases and rules can share one long text, and many runs can share one list of results.
 */
export class ExpansionLimit {
  private left: number;

  /** @param size number of characters in the document */
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
