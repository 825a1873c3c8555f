import { readLines } from '../../platform/ssh/authorized-keys-file.js';
import { unifiedDiff } from '../authorized-keys/unified-diff.js';

/** What `diff -u` shows between a file and what a rotation makes of it: in the place of each line of the old key stands one of the new. */
export function comparedFile(path: string, before: Buffer, after: Buffer): string {
  const made = readLines(after);
  return unifiedDiff(
    path,
    readLines(before).map((line, i) => ({ line, becomes: made.slice(i, i + 1) })),
  );
}
