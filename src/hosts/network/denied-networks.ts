import {
  type Address,
  contains,
  type Network,
  parseNetwork,
  networkSizeOf,
  WIDTH,
} from '../../formats/encoding/ip-address.js';

const network = (text: string): Network => {
  const parsed = parseNetwork(text);
  if (parsed === undefined) throw new Error(`${text} is not a valid network`);
  return parsed;
};

/** LOOPBACK contains the loopback networks of this machine. */
export const LOOPBACK = [network('127.0.0.0/8'), network('::1/128')];

/** DENIED lists networks that scopes and host records must not contain. These networks contain no customer machines, or are local to this machine. */
export const DENIED: readonly { readonly network: Network; readonly why: string }[] = [
  ['0.0.0.0/8', 'this network (RFC 791)'],
  ['127.0.0.0/8', 'loopback'],
  ['::1/128', 'loopback'],
  ['::/128', 'unspecified'],
  ['169.254.0.0/16', 'link-local, instance metadata'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local (RFC 3879)'],
  ['100.100.100.200/32', 'instance metadata'],
  ['fd00:ec2::/32', 'instance metadata'],
  ['fd20:ce::/32', 'instance metadata'],
  ['192.0.0.192/32', 'instance metadata'],
  ['168.63.129.16/32', 'instance metadata'],
  ['224.0.0.0/4', 'multicast'],
  ['ff00::/8', 'multicast'],
  ['240.0.0.0/4', 'reserved (RFC 1112), broadcast'],
  ['100::/64', 'discard-only (RFC 6666)'],
].map(([text = '', why = '']) => ({ network: network(text), why }));

/** IPv6 networks whose addresses embed an IPv4 address. `below` is the number of bits after the IPv4 address. */
const CARRIERS: readonly { readonly network: Network; readonly below: number }[] = [
  { network: network('::ffff:0:0/96'), below: 0 }, // IPv4-mapped (RFC 4291)
  { network: network('::/96'), below: 0 }, // IPv4-compatible (RFC 4291, deprecated)
  { network: network('::ffff:0:0:0/96'), below: 0 }, // IPv4-translated (RFC 2765)
  { network: network('64:ff9b::/96'), below: 0 }, // NAT64 (RFC 6052)
  { network: network('64:ff9b:1::/48'), below: 0 }, // local-use NAT64 (RFC 8215)
  { network: network('2002::/16'), below: 80 }, // 6to4 (RFC 3056)
];
const TEREDO = network('2001::/32');

/** Returns the address, and every other address to which a packet sent to the address may be delivered. */
export function destinationsOf(address: Address): Address[] {
  if (address.family === 4 || address.value <= 1n) return [address]; // :: and ::1 embed nothing
  const embedded = CARRIERS.filter((carrier) => contains(carrier.network, address)).map(({ below }): Address => ({
    family: 4,
    value: (address.value >> BigInt(below)) & 0xffff_ffffn,
  }));
  // RFC 4380 section 4: the bits of the client's IPv4 address are inverted.
  if (contains(TEREDO, address)) embedded.push({ family: 4, value: ~address.value & 0xffff_ffffn });
  return [address, ...embedded];
}

/** Returns every network in `DENIED`, and the IPv6 networks that embed a denied IPv4 network. Used to check whole networks. */
export function deniedNetworks(): Network[] {
  const carried = DENIED.filter((denied) => denied.network.family === 4).flatMap((denied) =>
    CARRIERS.map(({ network: carrier, below }): Network => ({
      family: 6,
      base: carrier.base + (denied.network.base << BigInt(below)),
      bits: WIDTH[6] - below - (WIDTH[4] - denied.network.bits),
    })),
  );
  return [...DENIED.map((denied) => denied.network), ...carried.filter((one) => one.base % networkSizeOf(one) === 0n)];
}
