import { type AuthorizedKeysLine, lineEndOf, readLines, writeLines } from '../../platform/ssh/authorized-keys-file.js';
import { unifiedDiff } from './unified-diff.js';

/** What becomes of one line: itself, others, or none. `next` is the line behind it. */
export type LineChange = (line: AuthorizedKeysLine, next: AuthorizedKeysLine | undefined) => AuthorizedKeysLine[];

export interface EditedFile {
  readonly bytes: Buffer;
  /** Empty when nothing changes. */
  readonly diff: string;
}

/**
 * Changes lines and nothing else. A file that ended without a line end ends without one afterwards; a line that is put
 * behind another has that one's end; behind the last one, the file's, or sshd would read both as one.
 */
export function editLines(path: string, file: Buffer, change: LineChange): EditedFile {
  const before = readLines(file);
  const changed = before.flatMap((line, i) =>
    change(line, before[i + 1]).map((made) => (made.end === '' ? { ...made, end: line.end } : made)),
  );
  const bytes = writeLines(ended(changed, lineEndOf(before), before.at(-1)?.end === ''));
  return { bytes, diff: unifiedDiff(path, file, bytes) };
}

function ended(lines: AuthorizedKeysLine[], end: string, open: boolean): AuthorizedKeysLine[] {
  const last = lines.length - 1;
  return lines.map((line, i) => {
    if (i === last && open) return { ...line, end: '' };
    return line.end === '' ? { ...line, end } : line;
  });
}
