/**
 * Characters not allowed in a line of a key file: control characters (a line feed starts another line, NUL ends the line for sshd, a carriage
 * return or an escape changes what a terminal shows), the line and paragraph separators U+2028 and U+2029, bidirectional controls, and unpaired
 * surrogates. A tab is allowed because it only separates fields.
 */
const FORBIDDEN = /(?!\t)\p{Cc}|\p{Zl}|\p{Zp}|\p{Bidi_Control}|\p{Cs}/u;
const BLANKS = ' \t\r\n';

/**
 * Returns the only line in a text, without the byte order mark, blanks and line endings added by an editor or by copying. Undefined if the text has several
 * lines or contains a character that is not allowed in a key file.
 */
export function oneKeyLine(text: string): string | undefined {
  let [from, to] = [text.startsWith('\uFEFF') ? 1 : 0, text.length];
  while (from < to && BLANKS.includes(text.charAt(from))) from += 1;
  while (to > from && BLANKS.includes(text.charAt(to - 1))) to -= 1;
  const line = text.slice(from, to);
  return isLine(line) ? line : undefined;
}

/** Reports whether the text can be a line of authorized_keys, known_hosts or a list of principals. */
export function isLine(text: string): boolean {
  return !FORBIDDEN.test(text);
}
/** LineOption is an option of an authorized_keys line (sshd(8), AUTHORIZED_KEYS FILE FORMAT), as written. */
export interface LineOption {
  /** Lowercase name, because sshd ignores case. */
  readonly name: string;
  /** Value without quotes and with `\"` unescaped. Undefined for an option without a value. */
  readonly value: string | undefined;
  readonly text: string;
}

/** Splits options at commas outside quotes. */
export function readOptions(options: string): LineOption[] {
  const texts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < options.length; at += 1) {
    if (options.startsWith('\\"', at)) at += 1;
    else if (options[at] === '"') quoted = !quoted;
    else if (options[at] === ',' && !quoted) {
      texts.push(options.slice(start, at));
      start = at + 1;
    }
  }
  texts.push(options.slice(start));
  return texts.filter((text) => text !== '').map(readOption);
}

function readOption(text: string): LineOption {
  const equals = text.indexOf('=');
  const name = (equals === -1 ? text : text.slice(0, equals)).toLowerCase();
  if (equals === -1) return { name, value: undefined, text };
  return {
    name,
    value: text
      .slice(equals + 1)
      .replace(/^"(.*)"$/s, '$1')
      .replaceAll('\\"', '"'),
    text,
  };
}

const EXPIRY = 'expiry-time';

/**
 * ExpirySupport is the time zone in which a host's sshd reads the `expiry-time` option. `utc`: UTC, since OpenSSH 9.1. `local`: the host's local time, since
 * 7.7. `none`: the option is not supported, and sshd rejects lines with unknown options.
 */
export type ExpirySupport = 'utc' | 'local' | 'none';

/**
 * Returns how a host's sshd reads the expiry of a key.
 *
 * @param software software version from the version exchange, for example `OpenSSH_9.2p1 Debian-2`
 */
export function expirySupport(software: string): ExpirySupport {
  const [, major, minor] = /^OpenSSH_(\d+)\.(\d+)/.exec(software) ?? [];
  const version = Number(major) * 100 + Number(minor);
  if (version >= 901) return 'utc';
  return version >= 707 ? 'local' : 'none';
}

/** Prepends an expiry to the options and leaves all other bytes unchanged. An existing expiry is kept, because sshd applies the earlier of the two. */
export function withExpiry(options: string, at: string): string {
  const limit = `${EXPIRY}="${at}"`;
  return options === '' ? limit : `${limit},${options}`;
}
