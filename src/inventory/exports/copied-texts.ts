/** Signature, flags and length of the extension, which has none (PostgreSQL manual, COPY, "Binary Format"). */
const HEADER = 19;
/** Before each text: number of fields (-1 at the end) and number of bytes (-1 for NULL). */
const FIELD_COUNT = 2;
const BEFORE_TEXT = 6;
const NEWLINE = Buffer.from('\n');

/** The texts of a binary COPY of one column: of each its bytes in parts, as they came, and a newline; of NULL no part. */
export async function* copiedTextsOf(copied: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
  let begun = Buffer.alloc(0);
  let skipped = HEADER;
  let left = 0;
  let text: Buffer[] = [];
  let ended = false;
  for await (const chunk of copied) {
    if (ended) continue; // to the end: a COPY that is left early costs its connection
    const data = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
    let at = Math.min(skipped, data.length);
    skipped -= at;
    for (;;) {
      if (left > 0) {
        const part = data.subarray(at, at + left);
        if (part.length === 0) break;
        text.push(part);
        [at, left] = [at + part.length, left - part.length];
        if (left === 0) {
          text.push(NEWLINE);
          yield text;
          text = [];
        }
      } else {
        if (data.length - at < FIELD_COUNT || (data.length - at < BEFORE_TEXT && data.readInt16BE(at) > 0)) break;
        ended = data.readInt16BE(at) < 0;
        if (ended) break;
        left = data.readInt32BE(at + FIELD_COUNT);
        at += BEFORE_TEXT;
        if (left <= 0) yield [];
      }
    }
    begun = Buffer.from(data.subarray(at));
  }
}
