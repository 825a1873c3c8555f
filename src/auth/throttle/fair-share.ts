import { Problem } from '../../platform/errors/problem.js';

/** Keeps one caller from taking all the places of a line in which everyone waits. Counts within this process. */
export class FairShare {
  private readonly underWay = new Map<string, number>();

  /** `most` places at once for each. */
  constructor(private readonly most: number) {}

  async of<T>(who: string, work: () => Promise<T>): Promise<T> {
    const taken = this.underWay.get(who) ?? 0;
    if (taken >= this.most) {
      throw new Problem('overloaded', 'auth.too-many-attempts', 'Too many attempts at once; wait a second.', {
        retryAfter: 1,
      });
    }
    this.underWay.set(who, taken + 1);
    try {
      return await work();
    } finally {
      const left = (this.underWay.get(who) ?? 1) - 1;
      if (left > 0) this.underWay.set(who, left);
      else this.underWay.delete(who);
    }
  }
}
