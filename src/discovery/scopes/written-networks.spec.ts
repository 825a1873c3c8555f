import { describe, expect, it } from 'vitest';
import { formatNetwork } from '../../formats/encoding/ip-address.js';
import { readNetworks, listEntriesOf } from './written-networks.js';

const shown = (text: string) => {
  const networks = readNetworks(text);
  return Array.isArray(networks) ? networks.map(formatNetwork).join(' ') : networks;
};

describe('a list of networks', () => {
  it('accepts any common separator', () => {
    expect(listEntriesOf('10.0.0.1, 10.0.0.2;10.0.0.3\t10.0.0.4\r\n 2001:db8::/64')).toEqual([
      { text: '10.0.0.1', column: 1 },
      { text: '10.0.0.2', column: 11 },
      { text: '10.0.0.3', column: 20 },
      { text: '10.0.0.4', column: 29 },
      { text: '2001:db8::/64', column: 40 },
    ]);
  });

  it.each([
    ['192.0.2.0/24', '192.0.2.0/24'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['[2001:DB8::7]', '2001:db8::7/128'],
    ['192.0.2.1-6', '192.0.2.1/32 192.0.2.2/31 192.0.2.4/31 192.0.2.6/32'],
    ['192.0.2.0-192.0.3.255', '192.0.2.0/23'],
    ['0.0.0.0-255.255.255.255', '0.0.0.0/0'],
    ['2001:db8::-2001:db8::ff', '2001:db8::/120'],
    ['192.0.2.5/24', 'must have zero host bits: the network of 192.0.2.5 is 192.0.2.0/24'],
    ['192.0.2.9-3', 'is a range whose end is before its start'],
    ['192.0.2.9-x', 'is not an address range such as 192.0.2.1-20 or 192.0.2.1-192.0.2.20'],
    ['192.0.2.1-2001:db8::', 'is a range whose end is before its start'],
    ['fe80::1%eth0', 'has a zone ID, which is valid on only one machine: omit the zone ID'],
    ['192.0.2.0/33', 'must be a network such as 192.0.2.0/24'],
    ['010.0.0.1', undefined],
    ['web-1.example.com', undefined],
  ])('parses %s as %s', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });
});
