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
    ['{"a":1,}', 1, 8, /does not allow a comma after the last/],
    ['[1,2,\n]', 2, 1, /does not allow a comma after the last/],
    ["{'a':1}", 1, 2, /double quotation marks/],
    ['{"a":\'b\'}', 1, 6, /double quotation marks/],
    ['{a:1}', 1, 2, /double quotation marks/],
    ['{"a":1\n "b":2}', 2, 2, /a comma or } belongs here/],
    ['{"a" 1}', 1, 6, /colon/],
    ['{"a":1', 1, 7, /ends too early/],
    ['{"a":"b', 1, 8, /ends within a string/],
    ['{"a":True}', 1, 6, /true, false, null/],
    ['{"a":NaN}', 1, 6, /true, false, null/],
    ['{"a":01}', 1, 7, /no leading zeros/],
    ['{"a":.5}', 1, 6, /a value belongs here/],
    ['{"a":1} x', 1, 9, /the value ended before this/],
    ['{"p":"C:\\Users"}', 1, 9, /a backslash/],
    ['// note\n{}', 1, 1, /no comments/],
    ['{"a":"x\ty"}', 1, 8, /control character/],
    ['  ', 1, 1, /only whitespace/],
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
