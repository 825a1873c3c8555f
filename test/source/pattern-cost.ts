import { createContext, Script } from 'node:vm';
import { attacksOn } from './pattern-attacks.js';
import type { ProductPattern } from './product-patterns.js';

const LARGE = 16 * 1024;
const SMALL = LARGE / 4;
/** Time in milliseconds that a linear pattern never exceeds for the large text. A quadratic pattern takes ten times as long. */
const CHEAP_MS = 2;
/** Time limit for matching any pattern against 16 kB of external text. */
const MAX_MS = 40;
/** Limit for the time ratio between the large and the small text, which is 4 for linear and 16 for quadratic patterns. */
const MAX_GROWTH = 9;
/** Total time limit for all attacks on a pattern. If the limit is exceeded, the current attack is considered endless. */
const DEADLINE_MS = 4000;
const TRIES = 5;
/** Number of runs that must all find the pattern costly, because a busy machine can slow down all attempts of one run. */
const RUNS = 3;

interface Costly {
  readonly text: string;
  readonly smallMs: number;
  readonly largeMs: number;
}

/** Measurement that runs in a context with a time limit, which V8 also enforces while backtracking. */
const RUN = new Script(`
  (() => {
    state.at = -1;
    const cost = (text) => {
      const began = now();
      if (isRepeated) text.replace(pattern, '');
      else pattern.test(text);
      return now() - began;
    };
    const min = (text) => {
      let found = Infinity;
      for (let i = 0; i < tries; i += 1) found = Math.min(found, cost(text));
      return found;
    };
    for (const [small, large] of texts) {
      state.at += 1;
      if (cost(large) < cheap) continue;
      const largeMs = min(large);
      if (largeMs < cheap) continue;
      const smallMs = min(small);
      if (largeMs > max || largeMs / smallMs > growth) return { text: large, smallMs, largeMs };
    }
  })()
`);

/**
 * Returns a description of the fault in a pattern, which takes super-linear time or too much time for 16 kB of text, or undefined if there is none. The minimum
 * of several measurements counts, so that other load on the machine does not matter.
 */
export function costOf({ pattern, isRepeated }: ProductPattern, deadlineMs = DEADLINE_MS): string | undefined {
  const repeated = isRepeated ? new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`) : pattern;
  const texts = attacksOn(pattern).map((attack) => [attack(SMALL), attack(LARGE)]);
  const state = { at: 0 };
  const given = { pattern: repeated, isRepeated, texts, state, now: () => performance.now() };
  const limits = { cheap: CHEAP_MS, max: MAX_MS, growth: MAX_GROWTH, tries: TRIES };
  try {
    let found: Costly | undefined;
    for (let run = 0; run === 0 || (found !== undefined && run < RUNS); run += 1)
      found = RUN.runInContext(createContext({ ...given, ...limits }), { timeout: deadlineMs }) as Costly | undefined;
    return (
      found && `${shown(found.text)}: ${found.smallMs.toFixed(1)} ms at 4 kB, ${found.largeMs.toFixed(1)} ms at 16 kB`
    );
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return `${shown(texts[state.at]?.[1] ?? '')}: no end after ${deadlineMs} ms`;
  }
}

function shown(text: string): string {
  return `${JSON.stringify(text.slice(0, 60))}…${JSON.stringify(text.slice(-4))}`;
}
