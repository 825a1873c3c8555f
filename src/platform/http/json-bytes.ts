import { Problem } from './problem.js';

const UTF_8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Without a byte order mark, which may be ignored (RFC 8259 section 8.1): editors and shells of Windows write one. */
export function withoutMark(body: Buffer): Buffer {
  return body.subarray(0, 3).equals(UTF_8_MARK) ? body.subarray(3) : body;
}

/**
 * JSON begins with an ASCII character, so that a NUL byte among the first two or three is that of a wider encoding (RFC 4627 section 3).
 *
 * @throws Problem 400 `request.malformed` that names the encoding.
 */
export function assertNoWideEncoding(body: Buffer): void {
  const [a, b, c, d] = [body[0], body[1], body[2], body[3]];
  const isUtf32 =
    (a === 0 && b === 0) || (b === 0 && c === 0 && d === 0) || (a === 0xff && b === 0xfe && c === 0 && d === 0);
  const isMarked = (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
  const isUtf16 = isMarked || (body.length > 1 && (a === 0 || b === 0));
  if (!isUtf32 && !isUtf16) return;
  const detail = `The body is not UTF-8: this is ${isUtf32 ? 'UTF-32' : 'UTF-16'}. Send it as UTF-8 (RFC 8259 section 8.1).`;
  throw new Problem('malformed', 'request.malformed', detail);
}
