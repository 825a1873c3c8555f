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
/** The options of an authorized_keys line (sshd(8), AUTHORIZED_KEYS FILE FORMAT), as they are written. */
export interface LineOption {
  /** In lower case; sshd does not care about case. */
  readonly name: string;
  /** Without quotes, `\"` undone; undefined for an option without a value. */
  readonly value: string | undefined;
  readonly text: string;
}

/** Splits options at the commas that no quotes hold. */
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
 * How the expiry of a key is written for the sshd of a host. `utc` since OpenSSH 9.1; `local`: its own local time, since 7.7; `none`: it would refuse
 * a line with an option that it does not know.
 */
export type ExpirySupport = 'utc' | 'local' | 'none';

/** @param software of the version exchange, for example `OpenSSH_9.2p1 Debian-2` */
export function expirySupport(software: string): ExpirySupport {
  const [, major, minor] = /^OpenSSH_(\d+)\.(\d+)/.exec(software) ?? [];
  const version = Number(major) * 100 + Number(minor);
  if (version >= 901) return 'utc';
  return version >= 707 ? 'local' : 'none';
}

/**
 * The options with a limit of ours in front; every other byte stays. A limit that the line has of its own stays too, since
 * sshd takes the earlier of two.
 */
export function withExpiry(options: string, at: string): string {
  const limit = `${EXPIRY}="${at}"`;
  return options === '' ? limit : `${limit},${options}`;
}
