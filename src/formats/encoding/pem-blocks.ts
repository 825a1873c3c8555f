import { fromBrokenBase64 } from './base64.js';

export interface PemBlock {
  /** The words after BEGIN. */
  readonly label: string;
  /** What stands between headers and END, for `bytesOf`. */
  readonly base64: string;
  /** The block with its lines as they were first written. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
  /** It has no end: the next block or the end of the text came first. */
  readonly isCut: boolean;
}

/** RFC 7468 section 3 allows every printing character in a label; RFC 4716 has four hyphens and a blank. */
const BEGIN = /-----BEGIN ([!-,.-~ ]{1,60})-----|---- BEGIN (SSH2 [A-Z ]{1,40}) ----/g;

/** The blocks of a text (RFC 7468, RFC 4716), in time that grows with its length; what stands between them is a comment. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  const begin = new RegExp(BEGIN);
  const endOf = { pem: placesOf(text, '-----END '), ssh: placesOf(text, '---- END ') };
  let line = 1;
  let counted = 0;
  for (let found = begin.exec(text), next = found; found !== null; found = next) {
    const [opening, pem, ssh] = found;
    const label = pem ?? ssh ?? '';
    const start = begin.lastIndex;
    next = begin.exec(text);
    const end = ssh === undefined ? endOf.pem(start) : endOf.ssh(start);
    line += text.slice(counted, found.index).split('\n').length - 1;
    counted = found.index;
    if (end < 0 || (next !== null && next.index < end)) {
      blocks.push({ label, base64: '', text: '', line, isCut: true });
      continue;
    }
    const inner = plainLines(text.slice(start, end));
    const hyphens = ssh === undefined ? '-----' : ' ----';
    const last = text.indexOf(hyphens, end + hyphens.length);
    const after = last < 0 ? text.length : last + hyphens.length;
    blocks.push({
      label,
      base64: withoutHeaders(inner),
      text: `${opening}${inner}${text.slice(end, after)}`,
      line,
      isCut: false,
    });
  }
  return blocks;
}

/** The bytes of a block; none of one whose Base64 cannot be read. */
export function bytesOf({ base64 }: PemBlock): Buffer {
  return fromBrokenBase64(base64) ?? Buffer.alloc(0);
}

/** Tells where a word is next, for places that come in order, in one walk over the text; -1 for no more. */
function placesOf(text: string, word: string): (from: number) => number {
  let at = 0;
  return (from) => {
    while (at >= 0 && at < from) at = text.indexOf(word, from);
    return at;
  };
}

/** Lines as they were before JSON or a shell escaped their ends, a file of settings indented them, or a mail quoted them. */
function plainLines(text: string): string {
  const broken = text.includes('\\n') ? text.replaceAll(/\\r\\n|\\[rn]/g, '\n') : text;
  return broken.replaceAll(/^[> \t]+/gm, '');
}

/**
 * What follows the headers of old encrypted keys, which end at an empty line (RFC 1421), and of SSH keys, which end before the first line that
 * has no colon and goes on with none (RFC 4716 section 3.3).
 */
function withoutHeaders(inner: string): string {
  if (!inner.includes(':')) return inner;
  const blank = inner.search(/(?<=\S)\r?\n\r?\n/);
  if (blank >= 0) return inner.slice(inner.indexOf('\n', blank));
  const lines = inner.trimStart().split(/\r?\n/);
  const isHeader = (line: string, index: number) => line.includes(':') || lines[index - 1]?.endsWith('\\') === true;
  const first = lines.findIndex((line, index) => !isHeader(line, index));
  return first < 0 ? '' : lines.slice(first).join('\n');
}
