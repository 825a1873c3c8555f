import { Problem } from '../../platform/http/problem.js';

/** More than any tool asks for, and a few seconds of work: rounds of PBKDF2 (RFC 8018) or of RFC 7292 appendix B.2, over all parts. */
const MAX_ROUNDS = 3_000_000;

/** What may be spent on passwords while one document is read: it says itself how much it costs, for as many parts as it likes. */
export class DerivationBudget {
  private left = MAX_ROUNDS;

  /** @param blocks of the hash that the key takes, each of which costs all rounds. @throws Problem 422 `document.too-costly`. */
  spend(rounds: number, blocks: number): void {
    this.left -= rounds * blocks;
    if (this.left >= 0) return;
    const detail = `asks for more than ${MAX_ROUNDS.toLocaleString('en')} rounds of password hashing in all`;
    throw new Problem('refused', 'document.too-costly', `The key store ${detail}; write it anew with fewer.`, {
      errors: [{ pointer: '', detail }],
    });
  }
}
