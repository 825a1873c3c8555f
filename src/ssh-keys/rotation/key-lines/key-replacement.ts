import {
  type AuthorizedKeysLine,
  lineAgain,
  lineEndOf,
  lineOf,
  readLines,
  writeLines,
} from '../../../platform/ssh/authorized-keys-file.js';
import { withExpiry } from '../../../formats/ssh/key-line.js';
import { unifiedDiff } from './unified-diff.js';

/** KeyReplacement describes the replacement of one key by another in one file. */
export interface KeyReplacement {
  readonly path: string;
  /** Blob of the old key. */
  readonly old: Buffer;
  /** Blob of the new key. */
  readonly next: Buffer;
  /** New key as written on a line: `TYPE BASE64`. */
  readonly nextKey: string;
  /** Comment of each line of the new key. Defaults to the comment of the replaced line, followed by `tag`. */
  readonly nextComment?: string;
  /** Tag that identifies the rotation in the comments of its lines: `sealwright:ID`. */
  readonly tag: string;
  /** Options of the old key's lines before the rotation. Any other options include a limit set by the rotation. */
  readonly originals: ReadonlySet<string>;
}

/** Limit is the `expiry-time` of a line, in the format of the host's sshd. Undefined means no limit. */
export type Limit = string | undefined;

/** LineStanding is the state of one key's lines. `limited`: all lines have a time limit set by the rotation. `mixed`: only some lines have such a limit. */
export type LineStanding = 'absent' | 'permanent' | 'limited' | 'mixed';

export interface LineStandings {
  readonly old: LineStanding;
  readonly next: LineStanding;
}

/** Replaces one line with any number of lines. `next` is the following line. */
type LineChange = (line: AuthorizedKeysLine, next: AuthorizedKeysLine | undefined) => AuthorizedKeysLine[];

export interface EditedFile {
  readonly bytes: Buffer;
  /** Unified diff. Empty if nothing changes. */
  readonly diff: string;
}

/** Returns the options that the lines of a key currently have, which become the `originals` of a new rotation. */
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
 * Adds the new key after each line of the old key, with the same options and a time limit, so that sshd itself disables a new key that is not verified. The
 * lines of the old key stay unchanged. Repeating the call renews the limit.
 */
export function withNextLimited(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  const { old, next, originals } = replacement;
  return editLines(replacement.path, file, (line, behind) => {
    if (isOf(line, next)) return [line]; // already renewed with the preceding line
    if (!isOf(line, old) || line.key === undefined) return [line];
    if (behind !== undefined && isOf(behind, next)) return [line];
    const { options, indent, comment } = line.key;
    return [line, nextLine(replacement, limitedOptions(options, originals, until), comment, indent)];
  });
}

/**
 * Restores the lines of the new key after they were removed: after each line of the old key, or, if the old key is also missing, at the end of the file with
 * the original options. If the new key is present, only the limits of its lines are removed.
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

/** Renews the limit of every line of the new key. */
export function withNextRenewed(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  return withLimits(file, replacement, replacement.next, until);
}

/** Removes the rotation's limit from every line of the new key. */
export function withNextPermanent(file: Buffer, replacement: KeyReplacement): EditedFile {
  return withLimits(file, replacement, replacement.next, undefined);
}

/** Sets a limit on every line of the old key. A line keeps the limit of an earlier attempt if the earlier limit expires sooner. */
export function withOldLimited(file: Buffer, replacement: KeyReplacement, until: Limit): EditedFile {
  const { path, old, originals } = replacement;
  return editLines(path, file, (line) => {
    if (!isOf(line, old)) return [line];
    return [withLimit(line, originals, earlierLimit(limitOf(line, originals), until))];
  });
}

/** Returns the earliest limit that the rotation has set on lines of the old key, or undefined if no line has such a limit. */
export function oldLimitIn(file: Buffer, { old, originals }: KeyReplacement): Limit {
  const limits = readLines(file).flatMap((line) => (isOf(line, old) ? [limitOf(line, originals)] : []));
  return limits.reduce(earlierLimit, undefined);
}

/** Removes the rotation's limit from every line of the old key. */
export function withOldPermanent(file: Buffer, replacement: KeyReplacement): EditedFile {
  return withLimits(file, replacement, replacement.old, undefined);
}

/** Removes every line of the old key, including duplicates, because a single remaining line would be enough to log in. */
export function withoutOld(file: Buffer, { path, old }: KeyReplacement): EditedFile {
  return editLines(path, file, (line) => (isOf(line, old) ? [] : [line]));
}

/** Restores the file: removes the new key, and removes the rotation's limit from the old key. */
export function rolledBack(file: Buffer, replacement: KeyReplacement): EditedFile {
  const { path, old, next, originals } = replacement;
  return editLines(path, file, (line) => {
    if (isOf(line, next)) return [];
    return isOf(line, old) ? [withLimit(line, originals, undefined)] : [line];
  });
}

/**
 * Restores the old key without a limit, in case the new key fails. If the old key was removed, adds it before each line of the new key, with the options of
 * that line. If another program removed both keys, neither is restored.
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

/** Tag of a rotation at the end of a comment. Lines of a previously rotated key contain such a tag. */
const TAG = /^sealwright:[0-9a-f-]{36}$/;

/** Returns a comment without the tag of the rotation that wrote the line. */
export function withoutTag(comment: string): string {
  const start = Math.max(comment.lastIndexOf(' '), comment.lastIndexOf('\t')) + 1;
  return TAG.test(comment.slice(start)) ? comment.slice(0, start).trimEnd() : comment;
}

/** Returns a line of the new key. A comment from the file is copied byte for byte. */
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
  // Preserves the white space between options and key.
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

/** Returns the limit that the rotation has set on a line. */
function limitOf({ key }: AuthorizedKeysLine, originals: ReadonlySet<string>): Limit {
  if (key === undefined || !isLimited(key.options, originals)) return undefined;
  return /^expiry-time="(\d{8,14}Z?)"/.exec(key.options)?.[1];
}

/** Returns the limit that expires first. Limits in different notations (UTC, local time) cannot be compared. In that case, returns the second limit. */
export function earlierLimit(one: Limit, other: Limit): Limit {
  if (one === undefined || other === undefined) return one ?? other;
  return one.length === other.length && one < other ? one : other;
}

/** Returns the options without the limit added by `withExpiry`. A limit that the line had before the rotation is kept. */
function withoutLimit(options: string, originals: ReadonlySet<string>): string {
  if (originals.has(options)) return options;
  const own = options.replace(/^expiry-time="\d{8,14}Z?",?/, '');
  return originals.has(own) ? own : options;
}

/**
 * Changes individual lines. A file without a final line ending remains without one. An added line gets the line ending of the preceding line. If the preceding
 * line is the unterminated last line, it is terminated with the file's line ending, because sshd would otherwise read both lines as one.
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
