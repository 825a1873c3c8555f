import type { Problem } from '../errors/problem.js';

/** OpenCalls limits the number of open calls per caller and process. */
export class OpenCalls {
  private readonly counts = new Map<string, number>();

  /** @param refusal returns the Problem for a caller who has `max` open calls */
  constructor(
    private readonly max: number,
    private readonly refusal: (max: number) => Problem,
  ) {}

  /** Counts a call of the principal and returns the function that releases the call. */
  admit(principal: string): () => void {
    const count = this.counts.get(principal) ?? 0;
    if (count >= this.max) throw this.refusal(this.max);
    this.counts.set(principal, count + 1);
    return () => {
      const left = (this.counts.get(principal) ?? 1) - 1;
      if (left === 0) this.counts.delete(principal);
      else this.counts.set(principal, left);
    };
  }
}
