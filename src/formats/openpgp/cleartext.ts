/** Signed text (RFC 9580 section 7): bytes as latin1 characters, so that any encoding stays as it is. */

const DASH_ESCAPED = /^(?:-|From )/;

/**
 * What is hashed of a text in the Cleartext Signature Framework: lines without blanks at their ends, with CR LF between them (section 7.1),
 * without the last line ending.
 */
export function canonicalCleartext(text: Buffer): Buffer {
  return Buffer.from(linesOf(text).map(withoutTrailingBlanks).join('\r\n'), 'latin1');
}

/** A whole text with CR LF at the end of each line, as it is hashed for a signature of text (section 5.2.1.2). */
export function canonicalText(text: Buffer): Buffer {
  return new TextLines().next(text);
}

/** The text before its signature: with its header, and lines that begin with a dash escaped (section 7.2). */
export function cleartextMessage(text: Buffer, hash: string): Buffer {
  const body = linesOf(text).map((line) => (DASH_ESCAPED.test(line) ? `- ${line}` : line));
  const head = ['-----BEGIN PGP SIGNED MESSAGE-----', `Hash: ${hash.toUpperCase()}`, ''];
  return Buffer.from([...head, ...body, ''].join('\n'), 'latin1');
}

/** A line ending at the end of the text begins no line. */
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

/** Changes the line endings of a text to CR LF piece by piece, as a signature of the type 0x01 over it is hashed (section 5.2.1.2). */
export class TextLines {
  private returns = 0;

  /** The next piece as it is hashed. Returns at the end of a piece are kept back: they may belong to a line ending. */
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
