import type { Finding } from '../finding.js';

/** A file as detectors see it. */
export interface SeenFile {
  /** What findings call it. */
  readonly location: string;
  readonly name: string;
  readonly bytes: Buffer;
  /** Its bytes as Latin-1, which loses nothing. */
  readonly text: string;
  /** Passwords that key stores may be opened with. */
  readonly storePasswords: readonly string[];
}

/** Says what a file holds. It is given every file that is small enough, and says quickly that one is none of its business. */
export type Detector = (file: SeenFile) => Finding[];

/** The line of a place in a text, from 1. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}
