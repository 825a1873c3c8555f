import { Problem } from '../../platform/errors/problem.js';

/** More than any tool asks for, and a few seconds of work: rounds of PBKDF2 (RFC 8018) or of RFC 7292 appendix B.2, over all parts. */
const MAX_ROUNDS = 3_000_000;

/**
 * Rounds of key derivation that one document may cost: it says itself how many each of its parts takes, and a store may hold a thousand
 * keys with salts of their own.
 */
export class DerivationBudget {
  private left = MAX_ROUNDS;

  /**
   * Takes the rounds for one derivation, before it is made. False when there are not as many left, or the number is none: what can be
   * read without is read then.
   * @param blocks of the hash that the key takes, each of which costs all rounds
   */
  take(rounds: number, blocks = 1): boolean {
    const cost = rounds * blocks;
    if (!Number.isSafeInteger(cost) || cost < 1 || cost > this.left) return false;
    this.left -= cost;
    return true;
  }

  /** As `take`, for what cannot be read without. @throws Problem 422 `document.too-costly` */
  spend(rounds: number, blocks = 1): void {
    if (this.take(rounds, blocks)) return;
    const detail = `asks for more than ${MAX_ROUNDS.toLocaleString('en')} rounds of password hashing in all`;
    throw new Problem('refused', 'document.too-costly', `The key store ${detail}; write it anew with fewer.`, {
      errors: [{ pointer: '', detail }],
    });
  }
}
