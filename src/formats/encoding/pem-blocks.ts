import { fromBrokenBase64 } from './base64.js';

export interface PemBlock {
  /** Words after BEGIN. */
  readonly label: string;
  /** Text between the headers and END, for `bytesOf`. */
  readonly base64: string;
  /** The block with its original line breaks restored. */
  readonly text: string;
  /** Line number, starting at 1. */
  readonly line: number;
  /** Whether END is missing because the next block or the end of the text came first. */
  readonly isCut: boolean;
}

/** RFC 7468 section 3 allows any printable character in a label. RFC 4716 uses four hyphens and a space. */
const BEGIN = /-----BEGIN ([!-,.-~ ]{1,60})-----|---- BEGIN (SSH2 [A-Z ]{1,40}) ----/g;

/** Returns the blocks of a text (RFC 7468, RFC 4716) in linear time. Text between blocks is ignored. */
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

/** Returns the bytes of a block. Empty if its base64 is invalid. */
export function bytesOf({ base64 }: PemBlock): Buffer {
  return fromBrokenBase64(base64) ?? Buffer.alloc(0);
}

/** Returns a function that finds the next position of a word, or -1. Calls must use ascending positions, so that the text is scanned only once. */
function placesOf(text: string, word: string): (from: number) => number {
  let at = 0;
  return (from) => {
    while (at >= 0 && at < from) at = text.indexOf(word, from);
    return at;
  };
}

/** Restores lines whose breaks were escaped by JSON or a shell, and lines that were indented in a settings file or quoted in an email. */
function plainLines(text: string): string {
  const broken = text.includes('\\n') ? text.replaceAll(/\\r\\n|\\[rn]/g, '\n') : text;
  return broken.replaceAll(/^[> \t]+/gm, '');
}

/**
 * Removes headers. The headers of old encrypted keys (RFC 1421) end at an empty line. The headers of SSH keys end before the first line that has no colon and
 * does not continue a header (RFC 4716 section 3.3).
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
