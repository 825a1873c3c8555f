import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/** Address is an IP address as a number, independent of its text representation. */
export interface Address {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** Network is the set of addresses whose first `bits` bits equal the first bits of `base`. */
export interface Network {
  readonly family: 4 | 6;
  readonly base: bigint;
  readonly bits: number;
}

export const WIDTH = { 4: 32, 6: 128 } as const;
const IPV4 = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/;

/**
 * Parses an address in the only notation that all programs interpret alike: four decimal numbers without leading zeros, or IPv6 without a zone (RFC 4291
 * section 2.2). Undefined for all other notations, in particular octal, hexadecimal and short forms.
 */
export function parseAddress(text: string): Address | undefined {
  if (IPV4.test(text) && isIPv4(text)) return { family: 4, value: ipv4Value(text) };
  if (isIPv6(text) && !text.includes('%')) return { family: 6, value: ipv6Value(text) };
  return undefined;
}

/** Parses a network such as `192.0.2.0/24`, whose host bits must be zero. A single address is a network of size one. Undefined for any other text. */
export function parseNetwork(text: string): Network | undefined {
  const [head = '', tail, ...rest] = text.split('/');
  const address = parseAddress(head);
  if (address === undefined || rest.length > 0) return undefined;
  const width = WIDTH[address.family];
  if (tail !== undefined && !/^(0|[1-9]\d{0,2})$/.test(tail)) return undefined;
  const bits = tail === undefined ? width : Number(tail);
  if (bits > width) return undefined;
  const network = { family: address.family, base: address.value, bits };
  return address.value % networkSizeOf(network) === 0n ? network : undefined;
}

export function networkSizeOf({ family, bits }: Pick<Network, 'family' | 'bits'>): bigint {
  return 1n << BigInt(WIDTH[family] - bits);
}

export function contains(network: Network, { family, value }: Address): boolean {
  if (network.family !== family) return false;
  return value >= network.base && value < network.base + networkSizeOf(network);
}

/** Reports whether every address of `inner` is in `outer`. */
export function containsNetwork(outer: Network, inner: Network): boolean {
  return outer.bits <= inner.bits && contains(outer, { family: inner.family, value: inner.base });
}

export function overlaps(one: Network, other: Network): boolean {
  return containsNetwork(one, other) || containsNetwork(other, one);
}

/** Returns the smallest set of networks that covers exactly the addresses from `first` to `last`. Empty if the range is reversed or mixes families. */
export function networksBetween(first: Address, last: Address): Network[] {
  const networks: Network[] = [];
  if (first.family !== last.family) return networks;
  for (let base = first.value; base <= last.value;) {
    let bits: number = WIDTH[first.family];
    const wider = () => networkSizeOf({ family: first.family, bits: bits - 1 });
    while (bits > 0 && base % wider() === 0n && base + wider() - 1n <= last.value) bits -= 1;
    networks.push({ family: first.family, base, bits });
    base += networkSizeOf({ family: first.family, bits });
  }
  return networks;
}

/** Formats an address. IPv6 addresses are formatted as in RFC 5952. */
export function formatAddress({ family, value }: Address): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
  const groups = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

export function formatNetwork(network: Network): string {
  return `${formatAddress({ family: network.family, value: network.base })}/${network.bits}`;
}

/** Returns a Node BlockList with the given addresses and CIDR blocks. IPv4 rules also match IPv4-mapped IPv6 addresses. */
export function blockListOf(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', bits] = block.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return list;
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Returns the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2), as reported by dual-stack sockets. Other text is returned unchanged. */
export function unmapped(address: string): string {
  return MAPPED.exec(address)?.[1] ?? address;
}

/** AddressList contains the addresses from which a credential may be used. */
export class AddressList {
  private readonly list: BlockList;

  /** @param blocks addresses and CIDR blocks */
  constructor(blocks: readonly string[]) {
    this.list = blockListOf(blocks);
  }

  /** Reports whether the list contains an address. An IPv4-mapped IPv6 address counts as IPv4. False for text that is not an address. */
  includes(address: string): boolean {
    const plain = unmapped(address);
    const family = isIP(plain);
    return family !== 0 && this.list.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  }
}

function ipv4Value(text: string): bigint {
  return text.split('.').reduce((value, part) => value * 256n + BigInt(part), 0n);
}

function ipv6Value(text: string): bigint {
  const plain = text.includes('.') ? withoutDots(text) : text;
  const [head = '', tail] = plain.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...front, ...Array<string>(8 - front.length - back.length).fill('0'), ...back];
  return groups.reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n);
}

/** Replaces the dotted-decimal part of an IPv6 address, such as `::ffff:192.0.2.1`, with two hexadecimal groups. */
function withoutDots(text: string): string {
  const at = text.lastIndexOf(':') + 1;
  const value = ipv4Value(text.slice(at));
  return `${text.slice(0, at)}${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
}

/** Reports whether the text is an address or a CIDR block (RFC 4632, RFC 4291 section 2.3). */
export function isAddressBlock(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

/**
 * Reports whether a host (a name, or an IPv4 or IPv6 address, with or without brackets) is this machine: 127.0.0.0/8, ::1, and the names in RFC 6761
 * section 6.3, which resolve to these addresses.
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
