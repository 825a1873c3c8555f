import { fromBrokenBase64 } from '../../formats/encoding/base64.js';

const CHECKSUM = /^=[A-Za-z0-9+/]{4}\s*$/;

/** The bytes of one armored block (RFC 9580 section 6.2): its headers end at an empty line, its checksum is left out. */
export function dearmored(block: string): Buffer {
  const lines = block.split(/\r\n|\r|\n/);
  const head = lines.findIndex((line, index) => index > 0 && line.trim() === '');
  // A block without headers may lack the line; a header has a colon, base64 has none.
  const start = head > 0 && lines.slice(1, head).every((line) => line.includes(': ')) ? head + 1 : 1;
  const body = lines.slice(start, -1).filter((line) => !CHECKSUM.test(line) && !line.includes(':'));
  const bytes = fromBrokenBase64(body.join(''));
  if (bytes === undefined) throw new RangeError('an armored block of something else than base64');
  return bytes;
}
