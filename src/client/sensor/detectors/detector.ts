import type { SensorFinding } from '../model/finding.js';

/** SeenFile is a file as passed to detectors. */
export interface SeenFile {
  /** Name of the file in findings. */
  readonly location: string;
  readonly name: string;
  readonly bytes: Buffer;
  /** Content of the file decoded as Latin-1, which is lossless. */
  readonly text: string;
  /** Passwords to try on key stores. */
  readonly storePasswords: readonly string[];
}

/**
 * Detector returns the findings in a file. Detectors are called for every file that is small enough, so a detector must quickly skip files that do not concern
 * it.
 */
export type Detector = (file: SeenFile) => SensorFinding[];

/**
 * Returns a function that maps an index in a text to the number of its line, starting at 1, and the index where that line begins. For ascending indexes, all
 * calls together take one pass over the text.
 */
export function fileLinesOf(text: string): (index: number) => { readonly line: number; readonly start: number } {
  let [line, start, next] = [1, 0, text.indexOf('\n')];
  return (index) => {
    for (; next !== -1 && next < index; next = text.indexOf('\n', start)) {
      line += 1;
      start = next + 1;
    }
    return { line, start };
  };
}
