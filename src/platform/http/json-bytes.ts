import { Problem } from '../errors/problem.js';

const UTF_8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Of the first four bytes in hexadecimal: a mark, or where the NUL bytes of ASCII characters stand. */
const UTF_32 = /^(?:0000|fffe0000|[\da-f]{2}000000)/;
const UTF_16 = /^(?:fffe|feff|00[\da-f]{2}|[\da-f]{2}00)/;

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
  const head = body.toString('hex', 0, 4);
  const name = UTF_32.test(head) ? 'UTF-32' : UTF_16.test(head) ? 'UTF-16' : undefined;
  if (name === undefined) return;
  const detail = `The body is not UTF-8: this is ${name}. Send it as UTF-8 (RFC 8259 section 8.1).`;
  throw new Problem('malformed', 'request.malformed', detail);
}
