import {
  formatAddress,
  type Network,
  networksBetween,
  parseAddress,
  parseNetwork,
} from '../../formats/encoding/ip-address.js';

/** An entry of a list with its one-based column. */
export interface ListEntry {
  readonly text: string;
  readonly column: number;
}

/** Splits a list at commas, semicolons, spaces, tabs and line breaks of any kind. */
export function listEntriesOf(text: string): ListEntry[] {
  return [...text.matchAll(/[^\s,;]+/g)].map(({ 0: word, index }) => ({ text: word, column: index + 1 }));
}

/**
 * readNetworks parses `192.0.2.0/24`, `192.0.2.1`, `192.0.2.1-20`, `192.0.2.1-192.0.2.20` and their IPv6 equivalents, with or without brackets. Returns an
 * error message for a malformed network, and undefined for a string that is not a network, such as a name.
 */
export function readNetworks(written: string): Network[] | string | undefined {
  const text = written.startsWith('[') && written.endsWith(']') ? written.slice(1, -1) : written;
  const network = parseNetwork(text);
  if (network !== undefined) return [network];
  if (text.includes('%')) return 'has a zone ID, which is valid on only one machine: omit the zone ID';
  if (text.includes('/')) return hostBits(text);
  const [from = '', to = '', ...rest] = text.split('-');
  const first = parseAddress(from);
  if (first === undefined || to === '' || rest.length > 0) return undefined;
  const last = parseAddress(/^\d{1,3}$/.test(to) ? `${from.slice(0, from.lastIndexOf('.') + 1)}${to}` : to);
  if (last === undefined) return 'is not an address range such as 192.0.2.1-20 or 192.0.2.1-192.0.2.20';
  const networks = networksBetween(first, last);
  return networks.length > 0 ? networks : 'is a range whose end is before its start';
}

function hostBits(text: string): string {
  const [head = '', bits = ''] = text.split('/');
  const address = parseAddress(head);
  const width = address?.family === 4 ? 32 : 128;
  const isPrefix = /^\d{1,3}$/.test(bits) && Number(bits) <= width;
  if (address === undefined || !isPrefix) return 'must be a network such as 192.0.2.0/24';
  const size = 1n << BigInt(width - Number(bits));
  const base = formatAddress({ ...address, value: address.value - (address.value % size) });
  return `must have zero host bits: the network of ${head} is ${base}/${bits}`;
}
