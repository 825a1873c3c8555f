import { expect, it } from 'vitest';
import { networkOf } from './origin.js';

it.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:1::', '2001:db8:1:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['1::', '1:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
  ['', ''],
])('the address %s maps to the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

it('all addresses of a /64 map to one network, and other networks to different ones', () => {
  const of = (network: string) =>
    new Set(Array.from({ length: 500 }, (_, i) => networkOf(`${network}::${i.toString(16)}:${i}`)));
  expect(of('2001:db8:7:1').size).toBe(1);
  expect(of('2001:db8:7:1')).not.toEqual(of('2001:db8:7:2'));
});
