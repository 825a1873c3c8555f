import type { SensorFinding } from '../model/finding.js';

/** A file as detectors see it. */
export interface SeenFile {
  /** Name of the file in findings. */
  readonly location: string;
  readonly name: string;
  readonly bytes: Buffer;
  /** Its bytes as Latin-1, which loses nothing. */
  readonly text: string;
  /** Passwords that key stores may be opened with. */
  readonly storePasswords: readonly string[];
}

/** Says what a file holds. It is given every file that is small enough, and says quickly that one is none of its business. */
export type Detector = (file: SeenFile) => SensorFinding[];

/** Answers the line of a place in a text, from 1, and where that line begins. Ascending places cost one pass in all. */
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
