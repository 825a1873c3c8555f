/** Of one address, in a minute. Nobody who means well is turned away so often. */
const MOST_EACH = 600;
/** Addresses that are told apart; all others share a place. */
const MOST_ADDRESSES = 1000;
const ELSEWHERE = 'elsewhere';

/**
 * Bounds what those who show no credential can write into a log that is kept for good: beyond some hundred in a minute, the refusals of
 * an address are counted and told as a number.
 */
export class AnonymousRefusals {
  private counts = new Map<string, number>();

  /** Whether this one is to have an entry of its own. */
  count(address: string): boolean {
    const place = this.counts.has(address) || this.counts.size < MOST_ADDRESSES ? address : ELSEWHERE;
    const count = (this.counts.get(place) ?? 0) + 1;
    this.counts.set(place, count);
    return count <= MOST_EACH;
  }

  /** Begins another minute. Answers, by address, how many had no entry of their own. */
  turn(): [address: string, more: number][] {
    const counts = [...this.counts];
    this.counts = new Map();
    return counts.flatMap(([address, count]) => (count > MOST_EACH ? [[address, count - MOST_EACH]] : []));
  }
}
