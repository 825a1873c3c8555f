/** Of one network or caller, in a minute. Nobody who means well is turned away so often. */
const MAX_EACH = 600;
/** Networks and callers that are told apart; all others share a place. */
const MAX_PLACES = 1000;
const ELSEWHERE = 'elsewhere';

/**
 * Bounds what one network or caller can write into a log that is kept for good: beyond some hundred in a minute, the refusals are counted and
 * told as a number.
 */
export class RefusalCounts<Who> {
  private counts = new Map<string, { count: number; readonly who: Who }>();

  /** Whether this one is to have an entry of its own. `who`: what the number is told of, as it is at the first refusal of the minute. */
  count(key: string, who: Who): boolean {
    const place = this.counts.has(key) || this.counts.size < MAX_PLACES ? key : ELSEWHERE;
    const known = this.counts.get(place) ?? { count: 0, who };
    known.count += 1;
    this.counts.set(place, known);
    return known.count <= MAX_EACH;
  }

  /** Begins another minute. Answers of whom how many had no entry of their own. */
  turn(): [who: Who, more: number][] {
    const counts = [...this.counts.values()];
    this.counts = new Map();
    return counts.flatMap(({ who, count }): [Who, number][] => (count > MAX_EACH ? [[who, count - MAX_EACH]] : []));
  }
}
