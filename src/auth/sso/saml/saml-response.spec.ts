import { expect, it } from 'vitest';
import { isSameAddress } from './saml-response.js';

it.each<[unknown, boolean]>([
  ['https://sw.example/acs', true],
  ['https://sw.example:443/acs', true],
  ['HTTPS://SW.example/acs', true],
  ['https://sw.example/acs/', false],
  ['https://sw.example/ACS', false],
  ['https://sw.example:8443/acs', false],
  ['http://sw.example/acs', false],
  ['https://sw.example/acs?x', false],
  ['https://elsewhere.example/acs', false],
  ['/acs', false],
  ['', false],
  [undefined, false],
])('the address %j is ours: %j', (stated, expected) => {
  expect(isSameAddress(stated, 'https://sw.example/acs')).toBe(expected);
});
