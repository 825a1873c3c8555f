import { isIP, isIPv6 } from 'node:net';
import { unmapped } from './ip-address.js';

/** HostAndPort is a listener's name or address, and its port. */
export interface HostAndPort {
  /** Name or address. IPv6 addresses have no brackets. */
  readonly host: string;
  readonly port: number;
}

const SHAPE = /^(?:\[([^[\]]+)\]|([^\s:/@[\]]+))(?::(\d{1,5}))?$/;
const MAX_PORT = 65_535;

/** Parses `host`, `host:port`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:port`. Undefined for any other text. */
export function readHostAndPort(text: string, usualPort: number): HostAndPort | undefined {
  const [, bracketed, name, digits] = isIPv6(text) ? [text, text] : (SHAPE.exec(text) ?? []);
  const host = bracketed ?? name;
  const port = digits === undefined ? usualPort : Number(digits);
  if (host === undefined || (bracketed !== undefined && !isIPv6(bracketed))) return undefined;
  return port >= 1 && port <= MAX_PORT ? { host, port } : undefined;
}

/**
 * Returns the valid addresses in an X-Forwarded-For header, nearest last. Ports, which some proxies add, are ignored. Only the entries after the last entry
 * that is not an address ("unknown", a name) are returned, because the earlier entries come from an unidentified sender.
 */
export function forwardedAddresses(header: string): string[] {
  const known: string[] = [];
  for (const part of header.split(',').reverse()) {
    const host = unmapped(readHostAndPort(part.trim(), 1)?.host ?? '');
    if (isIP(host) === 0) break;
    known.unshift(host);
  }
  return known;
}
