import { fromBrokenBase64 } from '../../formats/encoding/base64.js';

export interface PemBlock {
  /** The words after BEGIN. */
  readonly label: string;
  readonly bytes: Buffer;
  /** The block as it stands in the text. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,60})-----/g;

/** The blocks of a PEM text (RFC 7468), in time that grows with its length; what stands between them is a comment. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  const begin = new RegExp(BEGIN);
  let line = 1;
  let counted = 0;
  for (let found = begin.exec(text); found !== null; found = begin.exec(text)) {
    const label = found[1] ?? '';
    const end = text.indexOf('-----END ', begin.lastIndex);
    if (end < 0) break;
    line += text.slice(counted, found.index).split('\n').length - 1;
    counted = found.index;
    // Headers of old encrypted keys (RFC 1421) end at an empty line.
    const inner = text.slice(begin.lastIndex, end);
    const body = inner.includes(':') ? inner.slice(inner.search(/\r?\n\r?\n/)) : inner;
    const closing = text.indexOf('-----', end + 9);
    const after = closing < 0 ? text.length : closing + 5;
    blocks.push({
      label,
      bytes: fromBrokenBase64(body) ?? Buffer.alloc(0),
      text: text.slice(found.index, after),
      line,
    });
    begin.lastIndex = end;
  }
  return blocks;
}
