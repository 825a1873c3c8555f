import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonFault } from './json-fault.js';

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the position of a JSON syntax error', () => {
  it('is found for everything that JSON.parse rejects, and for nothing else', () => {
    const text = fc.array(
      fc.constantFrom(...'{}[]",:\\ \n\t0123456789-+.eEtruefalsnull/u'.split(''), '"a"', '{"a":1}', 'true'),
      {
        maxLength: 14,
      },
    );
    fc.assert(
      fc.property(text, (parts) => {
        const joined = parts.join('');
        expect(jsonFault(joined) === undefined).toBe(parses(joined));
      }),
      { numRuns: 20_000 },
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(jsonFault(JSON.stringify(value, null, 1))).toBeUndefined();
      }),
    );
  });

  it.each([
    ['{"a":1,}', 1, 8, /trailing commas are not allowed/],
    ['[1,2,\n]', 2, 1, /trailing commas are not allowed/],
    ["{'a':1}", 1, 2, /double quotation marks/],
    ['{"a":\'b\'}', 1, 6, /double quotation marks/],
    ['{a:1}', 1, 2, /double quotation marks/],
    ['{"a":1\n "b":2}', 2, 2, /expected a comma or }/],
    ['{"a" 1}', 1, 6, /colon/],
    ['{"a":1', 1, 7, /unexpected end of text/],
    ['{"a":"b', 1, 8, /ends inside a string/],
    ['{"a":True}', 1, 6, /true, false and null/],
    ['{"a":NaN}', 1, 6, /true, false and null/],
    ['{"a":01}', 1, 7, /leading zeros and hexadecimal are not allowed/],
    ['{"a":.5}', 1, 6, /expected a value/],
    ['{"a":1} x', 1, 9, /unexpected text after the JSON value/],
    ['{"p":"C:\\Users"}', 1, 9, /invalid escape/],
    ['// note\n{}', 1, 1, /comments are not allowed/],
    ['{"a":"x\ty"}', 1, 8, /control character/],
    ['  ', 1, 1, /only white space/],
  ])('is reported for %j', (text, line, column, detail) => {
    expect(jsonFault(text)).toEqual({ line, column, detail: expect.stringMatching(detail) });
  });

  it('is found at any depth, in linear time', () => {
    const started = performance.now();
    expect(jsonFault('['.repeat(200_000))).toMatchObject({ column: 200_001 });
    expect(jsonFault(`"${'\\\\'.repeat(100_000)}`)).toBeDefined();
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
