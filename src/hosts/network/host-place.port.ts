import { domainToASCII } from 'node:url';
import { formatAddress, parseAddress } from '../../formats/encoding/ip-address.js';

const MAX_PORT = 65_535;

export interface HostPlace {
  /** Address or name in canonical form. */
  readonly address: string;
  readonly port?: number;
}

/**
 * Returns the canonical form in which an address or name is stored: IPv6 as in RFC 5952 without brackets, names in lower case without a trailing dot, and
 * internationalized names as A-labels (RFC 5890). Any other text is returned unchanged and is later rejected by HostAddressGuard.
 */
export function canonicalAddress(text: string): string {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const address = parseAddress(bare);
  if (address !== undefined) return formatAddress(address);
  const name = text.toLowerCase().replace(/\.$/, '');
  // A trailing dot is valid for names. Programs disagree on the meaning of a dot after an address.
  if (parseAddress(name) !== undefined) return text;
  if (!/[^\0-\x7f]/.test(name)) return name;
  const ascii = domainToASCII(name);
  // Digits of other scripts would be normalized to an address that the user did not write.
  return ascii === '' || parseAddress(ascii) !== undefined ? name : ascii;
}

/**
 * Parses `host`, `host:22`, `2001:db8::1` and `[2001:db8::1]:22`, each with or without `ssh://` and `user@`. A zone (`%eth0`) is removed, because a zone is
 * valid only on the machine where the text was written. Returns undefined if the text or its port is invalid.
 */
export function readHostPlace(text: string): HostPlace | undefined {
  const written = splitHostPort(text);
  return written === undefined ? undefined : place(written.host, written.port);
}

/** splitHostPort returns host and port as written. The port is '' if absent. Returns undefined if brackets or colons are misplaced. */
export function splitHostPort(text: string): { readonly host: string; readonly port: string } | undefined {
  const bare = text.replace(/^ssh:\/\//i, '').replace(/\/$/, '');
  const host = bare.slice(bare.lastIndexOf('@') + 1);
  const bracketed = host.startsWith('[') ? host.indexOf(']') : -1;
  if (bracketed !== -1) {
    const rest = host.slice(bracketed + 1);
    if (rest !== '' && !rest.startsWith(':')) return undefined;
    return { host: host.slice(1, bracketed), port: rest.slice(1) };
  }
  const colon = host.indexOf(':');
  // Text with two colons is an IPv6 address, which can have a port only after brackets.
  if (colon === -1 || host.includes(':', colon + 1)) return { host, port: '' };
  return host.endsWith(':') ? undefined : { host: host.slice(0, colon), port: host.slice(colon + 1) };
}

function place(host: string, port: string): HostPlace | undefined {
  const zone = host.indexOf('%');
  const address = canonicalAddress(zone > 0 && host.includes(':') ? host.slice(0, zone) : host);
  if (address === '') return undefined;
  if (port === '') return { address };
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  return number >= 1 && number <= MAX_PORT ? { address, port: number } : undefined;
}
