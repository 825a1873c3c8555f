import { type BlockList, isIP } from 'node:net';
import { blockListOf } from '../../formats/encoding/ip-address.js';

/**
 * IPv4 blocks that are not public internet addresses (RFC 6890 and the IANA special-purpose registry), and 168.63.129.16, a public address that
 * belongs to the host agent within Azure.
 */
const CLOSED_4 = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared'],
  ['127.0.0.0/8', 'loopback'],
  ['168.63.129.16/32', 'metadata'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmark'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
] as const;

/** Only global unicast IPv6 addresses are allowed, except blocks that embed an IPv4 address or are reserved. */
const OPEN_6 = ['2000::/3'] as const;
const CLOSED_6 = [
  ['::1/128', 'loopback'],
  ['::/96', 'IPv4-compatible'],
  ['::ffff:0:0/96', 'IPv4-mapped'],
  ['64:ff9b::/96', 'NAT64'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link-local'],
  ['ff00::/8', 'multicast'],
  ['2001::/23', 'reserved'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['3fff::/20', 'documentation'],
] as const;

type Family = 'ipv4' | 'ipv6';

/** OutboundAddressGuard decides which addresses outbound requests may reach: public internet addresses and addresses that the operator allows. */
export class OutboundAddressGuard {
  private readonly named: BlockList;

  /** @param allowed addresses and CIDR blocks that are allowed although they are not public */
  constructor(allowed: readonly string[]) {
    this.named = blockListOf(allowed);
  }

  /** Returns the kind of an address that must not be reached; undefined if the address is allowed. Invalid addresses are rejected. */
  refusal(address: string): string | undefined {
    const [plain = ''] = address.split('%');
    const version = isIP(plain);
    if (version === 0) return 'unreadable';
    if (this.isNamed(address)) return undefined;
    return version === 4 ? closedAs(CLOSED, plain, 'ipv4') : refusalOf6(plain);
  }

  /** Reports whether the operator allowed the address. */
  isNamed(address: string): boolean {
    const [plain = ''] = address.split('%');
    const version = isIP(plain);
    return version !== 0 && this.named.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  }
}

const CLOSED = [...CLOSED_4, ...CLOSED_6].map(([block, kind]) => ({
  list: blockListOf([block]),
  kind,
  family: isIP(block.split('/')[0] ?? '') === 4 ? 'ipv4' : 'ipv6',
}));
const OPEN = blockListOf(OPEN_6);

function refusalOf6(address: string): string | undefined {
  return closedAs(CLOSED, address, 'ipv6') ?? (OPEN.check(address, 'ipv6') ? undefined : 'reserved');
}

/**
 * Returns the kind of the block that contains the address. The family is compared, because rules for IPv4 would also match IPv4-mapped addresses, which
 * have a separate kind.
 */
function closedAs(rules: typeof CLOSED, address: string, family: Family): string | undefined {
  return rules.find((rule) => rule.family === family && rule.list.check(address, family))?.kind;
}
