import {
  type AuthorizedKeysLine,
  lineAgain,
  lineEndOf,
  lineOf,
  readLines,
  writeLines,
} from '../../platform/ssh/authorized-keys-file.js';
import { withExpiry } from '../../formats/ssh/key-line.js';
import { unifiedDiff } from './unified-diff.js';

/** The replacement of a key by another in one file. */
export interface KeyReplacement {
  readonly path: string;
  /** Blob of the old key. */
  readonly old: Buffer;
  /** Blob of the new key. */
  readonly next: Buffer;
  /** The new key as on a line: `TYPE BASE64`. */
  readonly nextKey: string;
  /** Comment of each line of the new key; absent: the comment of the replaced line, followed by `tag`. */
  readonly nextComment?: string;
  /** Names the rotation on its lines: `sealwright:ID`. */
  readonly tag: string;
  /** The options that lines of the old key had before the rotation; anything else is a limit of the rotation. */
  readonly originals: ReadonlySet<string>;
}

/** The `expiry-time` of a line, as its sshd reads it; undefined: none. */
export type Limit = string | undefined;

/** State of the lines of one key. `limited`: each has a time limit of the rotation; `mixed`: some. */
export type LineStanding = 'absent' | 'permanent' | 'limited' | 'mixed';

export interface LineStandings {
  readonly old: LineStanding;
  readonly next: LineStanding;
}

/** Replaces one line by itself, others, or none. `next` is the line behind it. */
type LineChange = (line: AuthorizedKeysLine, next: AuthorizedKeysLine | undefined) => AuthorizedKeysLine[];

export interface EditedFile {
  readonly bytes: Buffer;
  /** Empty when nothing changes. */
  readonly diff: string;
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
 * Puts the new key behind each line of the old one, with the same options and a time limit: sshd itself ends it if it
 * is not verified. The old lines stay as they are. Doing it again renews the limit.
 */
export function withNextLimited(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  const { old, next, originals } = replacement;
  return editLines(replacement.path, file, (line, behind) => {
    if (isOf(line, next)) return [line]; // was renewed together with the line in front of it
    if (!isOf(line, old) || line.key === undefined) return [line];
    if (behind !== undefined && isOf(behind, next)) return [line];
    const { options, indent, comment } = line.key;
    return [line, nextLine(replacement, limitedOptions(options, originals, until), comment, indent)];
  });
}

/**
 * Writes the lines of the new key again after something removed them: behind each line of the old key, or at the end of the file with the original
 * options where the old key is gone too. Lines of the new key that are there lose their limit.
 */
export function withNextRestored(file: Buffer, replacement: KeyReplacement, oldText: string): EditedFile {
  const { path, old, next, originals } = replacement;
  const lines = readLines(file);
  if (lines.some((line) => isOf(line, next))) return withNextPermanent(file, replacement);
  if (lines.some((line) => isOf(line, old))) return withNextLimited(file, replacement, undefined);
  const comment = lineAgain('', oldText).key?.comment ?? '';
  const added = [...originals].map((options) => nextLine(replacement, options, comment, ''));
  const bytes = writeLines(ended([...lines, ...added], lineEndOf(lines), false));
  return { bytes, diff: unifiedDiff(path, file, bytes) };
}

/** Sets the limit of every line of the new key anew. */
export function withNextRenewed(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  return withLimits(file, replacement, replacement.next, until);
}

/** Removes the limit of the rotation from every line of the new key. */
export function withNextPermanent(file: Buffer, replacement: KeyReplacement): EditedFile {
  return withLimits(file, replacement, replacement.next, undefined);
}

/** Sets a limit on every line of the old key. A line keeps the limit of an earlier attempt if it expires sooner. */
export function withOldLimited(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  const { path, old, originals } = replacement;
  return editLines(path, file, (line) => {
    if (!isOf(line, old)) return [line];
    return [withLimit(line, originals, earlierLimit(limitOf(line, originals), until))];
  });
}

/** The earliest limit that the rotation has set on lines of the old key; undefined when none has one. */
export function oldLimitIn(file: Buffer, { old, originals }: KeyReplacement): Limit {
  const limits = readLines(file).flatMap((line) => (isOf(line, old) ? [limitOf(line, originals)] : []));
  return limits.reduce(earlierLimit, undefined);
}

/** Removes the limit of the rotation from every line of the old key. */
export function withOldPermanent(file: Buffer, replacement: KeyReplacement): EditedFile {
  return withLimits(file, replacement, replacement.old, undefined);
}

/** Removes every line of the old key, duplicates too: one that is left is enough to log in. */
export function withoutOld(file: Buffer, { path, old }: KeyReplacement): EditedFile {
  return editLines(path, file, (line) => (isOf(line, old) ? [] : [line]));
}

/** Restores the file: without the new key, and the old one without a limit of the rotation. */
export function rolledBack(file: Buffer, replacement: KeyReplacement): EditedFile {
  const { path, old, next, originals } = replacement;
  return editLines(path, file, (line) => {
    if (isOf(line, next)) return [];
    return isOf(line, old) ? [withLimit(line, originals, undefined)] : [line];
  });
}

/**
 * Puts the old key back for good: where it is limited, without the limit; where it was removed, in front of each line of the new key, with the
 * options of that line. For the case that the new key fails after all. Where both were removed by others, neither comes back.
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

/** The tag of a rotation at the end of a comment; a line of a key that was rotated before has one. */
const TAG = /^sealwright:[0-9a-f-]{36}$/;

/** Returns a comment without the tag of the rotation that wrote its line. */
export function withoutTag(comment: string): string {
  const start = Math.max(comment.lastIndexOf(' '), comment.lastIndexOf('\t')) + 1;
  return TAG.test(comment.slice(start)) ? comment.slice(0, start).trimEnd() : comment;
}

/** A line of the new key. A comment of the file is taken over byte for byte. */
function nextLine(
  { nextKey, nextComment, tag }: KeyReplacement,
  options: string,
  comment: string,
  indent: string,
): AuthorizedKeysLine {
  if (nextComment !== undefined) return lineOf(options, `${nextKey} ${nextComment}`, indent);
  const kept = withoutTag(comment);
  return lineAgain(options, [nextKey, kept, tag].filter((part) => part !== '').join(' '), indent);
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

/** The limit that the rotation has set on a line. */
function limitOf({ key }: AuthorizedKeysLine, originals: ReadonlySet<string>): Limit {
  if (key === undefined || !isLimited(key.options, originals)) return undefined;
  return /^expiry-time="(\d{8,14}Z?)"/.exec(key.options)?.[1];
}

/** The one that expires first. Limits in different notations (UTC, local time) are not compared: the second one counts. */
export function earlierLimit(one: Limit, other: Limit): Limit {
  if (one === undefined || other === undefined) return one ?? other;
  return one.length === other.length && one < other ? one : other;
}

/** The options without the limit that `withExpiry` put in front. A limit that the line had of its own stays. */
function withoutLimit(options: string, originals: ReadonlySet<string>): string {
  if (originals.has(options)) return options;
  const own = options.replace(/^expiry-time="\d{8,14}Z?",?/, '');
  return originals.has(own) ? own : options;
}

/**
 * Changes lines and nothing else. A file that ended without a line end ends without one afterwards; a line that is put
 * behind another has that one's end; behind the last one, the file's, or sshd would read both as one.
 */
function editLines(path: string, file: Buffer, change: LineChange): EditedFile {
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
