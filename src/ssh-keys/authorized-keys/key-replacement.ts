import { type AuthorizedKeysLine, lineAgain, lineOf, readLines } from '../../platform/ssh/authorized-keys-file.js';
import { type EditedFile, editLines } from './line-edit.js';
import { withExpiry } from '../../formats/ssh/key-line.js';

/** A key that takes the place of another in one file. */
export interface KeyReplacement {
  readonly path: string;
  /** Blob of the key that goes. */
  readonly old: Buffer;
  /** Blob of the key that comes. */
  readonly next: Buffer;
  /** What stands on a line of the new key: `TYPE BASE64 COMMENT`. */
  readonly nextText: string;
  /** The options that lines of the old key had before the rotation; what is more than that is a limit of ours. */
  readonly originals: ReadonlySet<string>;
}

/** When a line ends by itself, as its sshd reads `expiry-time`; undefined: not at all. */
export type Limit = string | undefined;

/** How the lines of one key stand. `limited`: each has a time limit of ours; `mixed`: some. */
export type LineStanding = 'absent' | 'permanent' | 'limited' | 'mixed';

export interface LineStandings {
  readonly old: LineStanding;
  readonly next: LineStanding;
}

/** The options that the lines of a key have now: `originals` of a rotation that has not begun. */
export function optionsOf(file: Buffer, blob: Buffer): Set<string> {
  const keys = readLines(file).flatMap(({ key }) => (key?.blob.equals(blob) === true ? [key.options] : []));
  return new Set(keys);
}

export function standingsOf(file: Buffer, { old, next, originals }: KeyReplacement): LineStandings {
  const lines = readLines(file);
  const of = (blob: Buffer): LineStanding => {
    const limited = lines.flatMap(({ key }) => (key?.blob.equals(blob) ? [isLimited(key.options, originals)] : []));
    if (limited.length === 0) return 'absent';
    if (limited.every(Boolean)) return 'limited';
    return limited.some(Boolean) ? 'mixed' : 'permanent';
  };
  return { old: of(old), next: of(next) };
}

/**
 * Puts the new key behind each line of the old one, with the same options and a time limit: sshd itself ends it if nobody
 * comes back to verify it. The old lines stay as they are. Doing it again renews the limit.
 */
export function withNextLimited(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  const { old, next, nextText, originals } = replacement;
  return editLines(replacement.path, file, (line, behind) => {
    if (isOf(line, next)) return [line]; // was renewed together with the line in front of it
    if (!isOf(line, old) || line.key === undefined) return [line];
    if (behind !== undefined && isOf(behind, next)) return [line];
    const { options, indent } = line.key;
    return [line, lineOf(limitedOptions(options, originals, until), nextText, indent)];
  });
}

/** Sets the limit of every line of the new key anew. */
export function withNextRenewed(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  return withLimits(file, replacement, replacement.next, until);
}

/** Takes our limit off every line of the new key. */
export function withNextPermanent(file: Buffer, replacement: KeyReplacement): EditedFile {
  return withLimits(file, replacement, replacement.next, undefined);
}

/** Sets an end to every line of the old key. */
export function withOldLimited(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  return withLimits(file, replacement, replacement.old, until);
}

/** Takes our limit off every line of the old key. */
export function withOldPermanent(file: Buffer, replacement: KeyReplacement): EditedFile {
  return withLimits(file, replacement, replacement.old, undefined);
}

/** Removes every line of the old key, duplicates too: one that is left is enough to log in. */
export function withoutOld(file: Buffer, { path, old }: KeyReplacement): EditedFile {
  return editLines(path, file, (line) => (isOf(line, old) ? [] : [line]));
}

/** As if the rotation had not been: without the new key, the old one without a limit of ours. */
export function rolledBack(file: Buffer, replacement: KeyReplacement): EditedFile {
  const { path, old, next, originals } = replacement;
  return editLines(path, file, (line) => {
    if (isOf(line, next)) return [];
    return isOf(line, old) ? [withLimit(line, originals, undefined)] : [line];
  });
}

/**
 * Puts the old key back for good: where it is limited, without the limit; where it was removed, in front of each line of the new key, with the
 * options of that line. For the one case that the new key fails after all. Where somebody removed both, neither comes back.
 */
export function withOldRestored(file: Buffer, replacement: KeyReplacement, oldText: string): EditedFile {
  const { path, old, next, originals } = replacement;
  if (readLines(file).some((line) => isOf(line, old))) return withOldPermanent(file, replacement);
  return editLines(path, file, (line) => {
    if (!isOf(line, next) || line.key === undefined) return [line];
    const { options, indent } = line.key;
    return [lineAgain(withoutLimit(options, originals), oldText, indent), line];
  });
}

function withLimits(file: Buffer, { path, originals }: KeyReplacement, blob: Buffer, until: Limit): EditedFile {
  return editLines(path, file, (line) => (isOf(line, blob) ? [withLimit(line, originals, until)] : [line]));
}

function isOf({ key }: AuthorizedKeysLine, blob: Buffer): boolean {
  return key?.blob.equals(blob) === true;
}

function withLimit(line: AuthorizedKeysLine, originals: ReadonlySet<string>, until: Limit): AuthorizedKeysLine {
  if (line.key === undefined) return line;
  const { options, indent, rest } = line.key;
  const wanted = limitedOptions(options, originals, until);
  if (wanted === options) return line;
  // The white space between options and key stays as it is.
  const gap = line.text.slice(indent.length + options.length, line.text.length - rest.length) || ' ';
  const text = wanted === '' ? indent + rest : indent + wanted + gap + rest;
  return { ...line, text };
}

function limitedOptions(options: string, originals: ReadonlySet<string>, until: Limit): string {
  const own = withoutLimit(options, originals);
  return until === undefined ? own : withExpiry(own, until);
}

function isLimited(options: string, originals: ReadonlySet<string>): boolean {
  return withoutLimit(options, originals) !== options;
}

/** The options without the limit that `withExpiry` put in front. A limit that the line had of its own stays. */
function withoutLimit(options: string, originals: ReadonlySet<string>): string {
  if (originals.has(options)) return options;
  const own = options.replace(/^expiry-time="\d{8,14}Z?",?/, '');
  return originals.has(own) ? own : options;
}
