import type { LookupAddress, LookupOptions } from 'node:dns';

/** Answers every address of a name, as `dns.lookup` with `all` does. */
export type NameLookup = (
  name: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** A look-up that takes longer than this, in milliseconds, is slow. */
const SLOW_MS = 3000;
/** A name that was slow is not looked up again before this time, in milliseconds. */
const PAUSE_MS = 60_000;
const MAX_SLOW_NAMES = 1000;

type Done = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/**
 * sharedLookup answers calls for one name at the same time with one look-up, and refuses names that were slow just now. The system has two threads for
 * look-ups in each process, and a look-up cannot be cancelled: whoever chose a name whose servers do not answer would stop the calls of everybody.
 */
export function sharedLookup(lookup: NameLookup, now: () => number = Date.now): NameLookup {
  const waiting = new Map<string, Done[]>();
  const slow = new Map<string, number>();
  return (name, options, done) => {
    if ((slow.get(name) ?? 0) > now()) {
      done(new Error(`the name servers of "${name}" did not answer in time; not asked again for a minute`), []);
      return;
    }
    const others = waiting.get(name);
    if (others !== undefined) {
      others.push(done);
      return;
    }
    const all = [done];
    waiting.set(name, all);
    const since = now();
    lookup(name, options, (error, addresses) => {
      waiting.delete(name);
      slow.delete(name);
      if (slow.size >= MAX_SLOW_NAMES) slow.clear();
      if (now() - since > SLOW_MS) slow.set(name, now() + PAUSE_MS);
      for (const one of all) one(error, addresses);
    });
  };
}
