import { isIPv4 } from 'node:net';

/**
 * Whether a host (a name, an IPv4 address, an IPv6 address with or without brackets) is this machine itself: 127.0.0.0/8, ::1, and the
 * names of RFC 6761 section 6.3, which resolvers answer with those.
 */
export function isLoopback(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  const address = name.replace(/^::ffff:/, '');
  return isIPv4(address) && address.startsWith('127.');
}
