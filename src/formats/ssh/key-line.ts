/**
 * Characters that no line of a key file may hold: control characters (a line feed begins another line, NUL ends the line for sshd, a carriage
 * return or an escape changes what a terminal shows), the line and paragraph separators U+2028 and U+2029, controls that turn the direction of text
 * round, and halves of surrogate pairs. A tab only stands between fields.
 */
const FORBIDDEN = /(?!\t)\p{Cc}|\p{Zl}|\p{Zp}|\p{Bidi_Control}|\p{Cs}/u;
const BLANKS = ' \t\r\n';

/**
 * The one line that a text holds, without the byte order mark, blanks and line ends that an editor or a copy left around it. Undefined for two lines,
 * and for a line with a character that no key file may hold.
 */
export function oneKeyLine(text: string): string | undefined {
  let [from, to] = [text.startsWith('\uFEFF') ? 1 : 0, text.length];
  while (from < to && BLANKS.includes(text.charAt(from))) from += 1;
  while (to > from && BLANKS.includes(text.charAt(to - 1))) to -= 1;
  const line = text.slice(from, to);
  return isLine(line) ? line : undefined;
}

/** Whether the text can be one line of authorized_keys, known_hosts or a list of principals. */
export function isLine(text: string): boolean {
  return !FORBIDDEN.test(text);
}
