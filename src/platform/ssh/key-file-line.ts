import { Problem } from '../errors/problem.js';
import { isLine } from '../../formats/ssh/key-line.js';

/**
 * A line that we make, for a file in which each line means something, with its end. The parts are joined by a space. Throws Problem
 * `ssh-key.unwritable` for a part that would become two lines, or that no key file may hold: the last check before a file is written.
 */
export function keyFileLine(...parts: readonly string[]): string {
  return `${keyFileText(...parts)}\n`;
}

/** The same without the end. */
export function keyFileText(...parts: readonly string[]): string {
  const text = parts.filter((part) => part !== '').join(' ');
  if (isLine(text)) return text;
  throw new Problem(
    'refused',
    'ssh-key.unwritable',
    'A comment or name has a control character and cannot be part of a line. Enter it again without that character.',
  );
}
