import { basename } from 'node:path';
import type { HashProgress } from './files.js';

const MIN_BYTES = 1 << 30;
const EVERY_MS = 5000;

/** Returns a HashProgress that prints the progress every five seconds for files of 1 GB or more. */
export function reportedProgress(note: (line: string) => void): HashProgress {
  let last = performance.now();
  return (file, done, total) => {
    const now = performance.now();
    if (total < MIN_BYTES || now - last < EVERY_MS) return;
    last = now;
    note(`sealwright: hashing ${basename(file)}: ${Math.floor((100 * done) / total)} %`);
  };
}
