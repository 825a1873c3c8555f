/** Matches lines that must be dash-escaped (RFC 9580 section 7.2). Text is handled as Latin-1, which preserves the bytes of any encoding. */

const DASH_ESCAPED = /^(?:-|From )/;

/**
 * Returns the hashed form of a text in the Cleartext Signature Framework: lines without trailing blanks, separated by CR LF (section 7.1),
 * without the last line ending.
 */
export function canonicalCleartext(text: Buffer): Buffer {
  return Buffer.from(linesOf(text).map(withoutTrailingBlanks).join('\r\n'), 'latin1');
}

/** Returns a text with CR LF line endings, as hashed for a text signature (section 5.2.1.2). */
export function canonicalText(text: Buffer): Buffer {
  return new TextLines().next(text);
}

/** Returns the part of a message before its signature: the header, and the text with dash-escaped lines (section 7.2). */
export function cleartextMessage(text: Buffer, hash: string): Buffer {
  const body = linesOf(text).map((line) => (DASH_ESCAPED.test(line) ? `- ${line}` : line));
  const head = ['-----BEGIN PGP SIGNED MESSAGE-----', `Hash: ${hash.toUpperCase()}`, ''];
  return Buffer.from([...head, ...body, ''].join('\n'), 'latin1');
}

/** Returns the lines of a text. A final line ending does not start another line. */
function linesOf(text: Buffer): string[] {
  const lines = text.toString('latin1').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function withoutTrailingBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && ' \t\r'.includes(line[end - 1] ?? '')) end -= 1;
  return line.slice(0, end);
}

const CR = 0x0d;
const LF = 0x0a;

/** TextLines converts line endings to CR LF in chunks, as hashed for a signature of type 0x01 (section 5.2.1.2). */
export class TextLines {
  private returns = 0;

  /** Converts the next chunk. Carriage returns at its end are held back because they may be part of a line ending. */
  next(piece: Buffer): Buffer {
    const out = Buffer.alloc(piece.length * 2 + this.returns);
    let length = 0;
    for (const octet of piece) {
      if (octet === CR) {
        this.returns += 1;
        continue;
      }
      if (octet === LF) {
        this.returns = 0;
        length = out.writeUInt16BE(0x0d0a, length);
        continue;
      }
      for (; this.returns > 0; this.returns -= 1) length = out.writeUInt8(CR, length);
      length = out.writeUInt8(octet, length);
    }
    return out.subarray(0, length);
  }
}
