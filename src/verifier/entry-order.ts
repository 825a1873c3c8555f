import { isId, timeOfId } from '../formats/encoding/uuid.js';

/** Minimum number of remembered IDs: about one day's entries on a busy service. */
const REMEMBERED = 500_000;
/** Maximum delay before an entry is numbered. Entries are numbered within seconds; long transactions and clock skew add minutes at most. */
const MAX_LATE_MS = 10 * 60_000;
/** Maximum difference between the time of an entry, set by the database, and the time in its ID, set by the process. */
const MAX_APART_MS = 10 * 60_000;

/**
 * EntryOrder detects audit log entries that are repeated or delayed, or that have a wrong date. An attacker with write access to the database can have a
 * genuine entry numbered twice, delay the numbering of an entry, or change the date of an entry before it is numbered.
 */
export class EntryOrder {
  private recent = new Set<string>();
  private earlier = new Set<string>();
  private newest = 0;

  /**
   * Returns the fault of the next entry as a phrase that follows "the entry", or undefined if the entry has no fault. `at` is the entry's time in RFC 3339
   * format.
   */
  faultOf(id: string, at: string): string | undefined {
    if (!isId(id)) return undefined;
    const time = timeOfId(id);
    const isRepeated = this.recent.has(id) || this.earlier.has(id);
    this.remember(id);
    if (isRepeated) return `${id} appears twice in the log`;
    if (Math.abs(Date.parse(at) - time) > MAX_APART_MS)
      return `${id} is dated ${at}, but was created at ${new Date(time).toISOString()}`;
    // Entries with a wrong time were reported above and are not used for comparison.
    if (time < this.newest - MAX_LATE_MS)
      return `${id} was created at ${new Date(time).toISOString()}, long before the entries that precede it`;
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
