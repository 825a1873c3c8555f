import { isId, timeOfId } from '../formats/encoding/uuid.js';

/** Ids that are remembered at least: memory for about a day of a busy service. */
const REMEMBERED = 500_000;
/** An entry is numbered within seconds. A transaction, and clocks of several machines, take minutes at most. */
const MAX_LATE_MS = 10 * 60_000;
/** The time of an entry is that of the database, the time in its id that of the process. */
const MAX_APART_MS = 10 * 60_000;

/**
 * EntryOrder finds entries of the audit log that are not where the service put them. Somebody who writes to the database can have a genuine entry numbered
 * again, keep one back and have it numbered later, or date one before it is numbered.
 */
export class EntryOrder {
  private recent = new Set<string>();
  private earlier = new Set<string>();
  private newest = 0;

  /** The fault of the next entry, in words that follow "the entry". `at`: RFC 3339. */
  faultOf(id: string, at: string): string | undefined {
    if (!isId(id)) return undefined;
    const time = timeOfId(id);
    const isRepeated = this.recent.has(id) || this.earlier.has(id);
    this.remember(id);
    if (isRepeated) return `${id} is in the log twice`;
    if (Math.abs(Date.parse(at) - time) > MAX_APART_MS)
      return `${id} is dated ${at}, and was made on ${new Date(time).toISOString()}`;
    // Times of clocks that are wrong were reported above, and nothing is compared with them.
    if (time < this.newest - MAX_LATE_MS)
      return `${id} was made on ${new Date(time).toISOString()}, long before the entries that precede it`;
    this.newest = Math.max(this.newest, time);
    return undefined;
  }

  private remember(id: string): void {
    this.recent.add(id);
    if (this.recent.size < REMEMBERED) return;
    this.earlier = this.recent;
    this.recent = new Set();
  }
}
