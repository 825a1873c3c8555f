/**
 * A segment that a wildcard can match: printable ASCII without separators, escapes or white space, so that a wildcard matches neither look-alike characters nor
 * encoded paths.
 */
const PLAIN_SEGMENT = /^[\w.~+@=-]+$/;
/** The separators of paths and of subjects such as `repo:org/app:ref:refs/tags/v1`. */
const SEPARATORS = /([/:])/;
const PRINTABLE = /^[\x21-\x7e]+$/;
const CONTROL = /\p{C}/u;

/** The wildcard for one or more whole segments of a path, at the end of a pattern. */
const REST = '**';

/**
 * Reports whether a claim value matches a pattern. Without `*`, the two strings must be equal. `*` matches one or more characters within one segment; segments
 * end at `/` and `:`. `**` at the end matches one or more segments of a path. A wildcard matches only ASCII letters, digits and `_ . ~ + @ = -`. A value with a
 * segment that is empty, `.` or `..` matches no pattern with a wildcard. Matching is case-sensitive.
 */
export function claimMatches(pattern: string, value: string): boolean {
  if (!pattern.includes('*')) return pattern === value;
  const wanted = pattern.split(SEPARATORS);
  const given = value.split(SEPARATORS);
  if (given.some(isPathTrick)) return false;
  if (wanted.at(-1) !== REST) return wanted.length === given.length && wanted.every((part, i) => fits(part, given[i]));
  const begin = wanted.slice(0, -1);
  const rest = given.slice(begin.length);
  const isRest = rest.length > 0 && rest.every((part, i) => (i % 2 === 0 ? PLAIN_SEGMENT.test(part) : part === '/'));
  return isRest && begin.every((part, i) => fits(part, given[i]));
}

/**
 * claimMayMatch reports whether a pattern could be intended to match a claim value. The result is true whenever `claimMatches` returns true. If the value
 * contains characters or segments that no wildcard of `claimMatches` can match, a wildcard matches any characters. Use claimMayMatch for rules that must apply
 * in case of doubt, such as the conditions of an approval policy.
 */
export function claimMayMatch(pattern: string, value: string): boolean {
  if (!pattern.includes('*') || claimMatches(pattern, value)) return claimMatches(pattern, value);
  const parts = value.split(SEPARATORS);
  const isPlain = parts.every((part, i) => i % 2 === 1 || (PLAIN_SEGMENT.test(part) && !isPathTrick(part, i)));
  return !isPlain && containsInOrder(value, pattern.split(/\*+/));
}

/**
 * containsInOrder reports whether the value starts with the first string, ends with the last string, and contains the strings in between in the given order.
 */
export function containsInOrder(value: string, texts: readonly string[]): boolean {
  const [first = '', last = ''] = [texts[0], texts.at(-1)];
  if (!value.startsWith(first)) return false;
  let at = first.length;
  for (const text of texts.slice(1, -1)) {
    const found = value.indexOf(text, at);
    if (found === -1) return false;
    at = found + text.length;
  }
  return value.length - last.length >= at && value.endsWith(last);
}

/** Returns the reason why a string is not a valid pattern, worded for the author of the pattern; undefined if the pattern is valid. */
export function faultOfPattern(pattern: string): string | undefined {
  if (!pattern.isWellFormed() || CONTROL.test(pattern)) return 'contains a control character or an unpaired surrogate';
  if (!pattern.includes('*')) return undefined;
  if (!PRINTABLE.test(pattern)) return 'contains a wildcard next to a character that is not printable ASCII';
  const [first = '', ...more] = pattern.split(SEPARATORS);
  if (first.startsWith('*')) return 'starts with a wildcard, which would match names that anyone can register';
  if (more.length > 0 && first.includes('*'))
    return 'contains a wildcard in its first segment; write that segment in full';
  const doubled = more.findIndex((part) => part.includes(REST));
  if (first.includes(REST) || (doubled !== -1 && !isRestAt(more, doubled)))
    return 'contains "**", which is allowed only as the last segment of a path';
  return undefined;
}

function isRestAt(parts: readonly string[], index: number): boolean {
  return parts[index] === REST && index === parts.length - 1 && parts[index - 1] === '/';
}

/** Reports whether a part is a segment that is empty, `.` or `..`. The parts at odd indexes are separators. */
function isPathTrick(part: string, index: number): boolean {
  return index % 2 === 0 && (part === '' || part === '.' || part === '..');
}

/** Reports whether one segment, or one separator, matches. For each literal in the pattern, matching takes time linear in the length of the value. */
function fits(wanted: string, given: string | undefined): boolean {
  if (given === undefined) return false;
  if (!wanted.includes('*')) return wanted === given;
  if (!PLAIN_SEGMENT.test(given)) return false;
  const literals = wanted.split('*');
  const [first = '', last = ''] = [literals[0], literals.at(-1)];
  if (!given.startsWith(first)) return false;
  let at = first.length;
  for (const literal of literals.slice(1, -1)) {
    const found = given.indexOf(literal, at + 1);
    if (found === -1) return false;
    at = found + literal.length;
  }
  return given.length - last.length > at && given.endsWith(last);
}
