import { isIP, isIPv6 } from 'node:net';
import { unmapped } from './address.js';

/** Where something listens: a name or an address, and a port. */
export interface HostAndPort {
  /** IPv6 addresses without brackets. */
  readonly host: string;
  readonly port: number;
}

const SHAPE = /^(?:\[([^[\]]+)\]|([^\s:/@[\]]+))(?::(\d{1,5}))?$/;
const MAX_PORT = 65_535;

/** Reads `host`, `host:port`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:port`; undefined when the text is none of them. */
export function readHostAndPort(text: string, usualPort: number): HostAndPort | undefined {
  const [, bracketed, name, digits] = isIPv6(text) ? [text, text] : (SHAPE.exec(text) ?? []);
  const host = bracketed ?? name;
  const port = digits === undefined ? usualPort : Number(digits);
  if (host === undefined || (bracketed !== undefined && !isIPv6(bracketed))) return undefined;
  return port >= 1 && port <= MAX_PORT ? { host, port } : undefined;
}

/**
 * The addresses of an X-Forwarded-For that can be read, nearest last. Some proxies add the port of the client, which says nothing about who it
 * is. What is no address ("unknown", a name) ends the chain: what stands before it was said by somebody who cannot be placed.
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
