import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repeatedMember } from './repeated-member.js';

describe('a member', () => {
  it.each([
    ['{"a":1,"a":1}', 'a'],
    ['{"a":1, "b":{"c":[{"d":1}, {"d":1,"e":[],"d":2}]}}', 'd'],
    [String.raw`{"a":"x","\u0061":"y"}`, 'a'],
    [String.raw`{"a\"":{},"b":"}","a\"":1}`, 'a"'],
    ['{"":1,"":2}', ''],
  ])('of %s comes twice', (text, name) => {
    expect(repeatedMember(text)).toBe(name);
  });

  it.each([
    '{"a":{"a":{"a":1}},"b":["a","a",{"a":1},{"a":2}]}',
    '{"a":"b","b":"a"}',
    '["a","a"]',
    '"a"',
    String.raw`{"a":"\\","b":"\"a\":"}`,
  ])('of %s comes once', (text) => {
    expect(repeatedMember(text)).toBeUndefined();
  });

  it('comes once in whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
        expect(repeatedMember(JSON.stringify(value, null, indent))).toBeUndefined();
      }),
    );
  });
});
