import { createHash } from 'node:crypto';
import { type Outline, outlineOf, withoutLists } from '../../platform/json/json-outline.js';
import type { Members } from './json-values.js';

/** What makes a document long. */
const LISTS = ['components', 'dependencies'];
/** To be raised when the same document comes to be read differently. */
const READING = 3;

/** A CycloneDX document as it came. */
export class BomText {
  private readonly outline: Outline | undefined;

  /** @param parse throws a Problem for what is no JSON. */
  constructor(
    private readonly bytes: Buffer,
    private readonly parse: (text: Buffer) => unknown,
    outline = outlineOf(bytes),
  ) {
    this.outline = outline;
  }

  whole(): Members {
    return this.parse(this.bytes) as Members;
  }

  /** All but the lists; undefined when the text must be read as a whole. */
  head(): Members | undefined {
    if (this.outline === undefined) return undefined;
    try {
      return this.parse(withoutLists(this.bytes, this.outline, LISTS)) as Members;
    } catch {
      // Reading the whole says where the fault is.
      return undefined;
    }
  }

  /**
   * Hash of what the document says: its lists as they stand, and what it is about. Serial number, version, time and properties are
   * those of one edition.
   */
  said({ specVersion, metadata }: { specVersion: string; metadata?: { component?: unknown } }): Buffer {
    const hash = createHash('sha256').update(JSON.stringify([READING, specVersion, metadata?.component ?? null]));
    if (this.outline === undefined) return hash.update(this.bytes).digest();
    for (const name of LISTS) {
      const { start, end } = this.outline.get(name) ?? { start: 0, end: 0 };
      hash.update(`\n${end - start} `).update(this.bytes.subarray(start, end));
    }
    return hash.digest();
  }
}
