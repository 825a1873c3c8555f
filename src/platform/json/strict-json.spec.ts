import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findAmbiguity, JsonRefused, readJson, readJsonObject } from './strict-json.js';

describe('readJson rejects', () => {
  it.each([
    ['a name twice', '{"a":1,"a":1}', '/a', 'duplicate member "a" (at /a)'],
    [
      'a name twice in an inner object',
      '{"a":1, "b":{"c":[{"d":1}, {"d":1,"e":[],"d":2}]}}',
      '/b/c/1/d',
      'duplicate member "d"',
    ],
    ['a name twice, once with an escape', String.raw`{"a":"x","\u0061":"y"}`, '/a', 'duplicate member "a"'],
    ['a name with a quote twice', String.raw`{"a\"":{},"b":"}","a\"":1}`, '/a"', 'duplicate'],
    ['a name that ends in a backslash twice', String.raw`{"a\\":1,"a\\":2}`, '/a\\', 'duplicate'],
    ['an empty name twice', '{"":1,"":2}', '/', 'duplicate'],
    [
      'an integer that a double changes',
      '{"a":[0,9007199254740993]}',
      '/a/1',
      'the number 9007199254740993 has more digits',
    ],
    ['a negative one', '[-9223372036854775808]', '/0', 'more digits'],
    ['one with an exponent', '{"n":9007199254740993e0}', '/n', 'more digits'],
    ['a fraction that a double changes', '{"n":0.12345678901234567890}', '/n', 'more digits'],
  ])('%s', (_, text, pointer, words) => {
    expect(() => readJson(text)).toThrow(words);
    expect(findAmbiguity(text)).toMatchObject({ pointer });
  });

  it('bytes that are not UTF-8, text that is not JSON, and other values where an object is required', () => {
    expect(() => readJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow('not valid UTF-8');
    expect(() => readJson('{"a":1,}')).toThrow('line 1, column 8');
    for (const text of ['[]', 'null', '"x"']) expect(() => readJsonObject(text)).toThrow(JsonRefused);
  });
});

describe('readJson accepts', () => {
  it.each([
    '{"a":{"a":{"a":1}},"b":["a","a",{"a":1},{"a":2}]}',
    '{"a":"b","b":"a"}',
    '["a","a"]',
    '"a"',
    String.raw`{"a":"\\","b":"\"a\":"}`,
    '[9007199254740991,-9007199254740991,1e20,1.2345678901234568e+20,100000000000000000000,0.1,-0.0,1E-7]',
    '{"9007199254740993":"9007199254740993"}',
  ])('%s', (text) => {
    expect(readJson(text)).toEqual(JSON.parse(text));
  });

  it('a byte order mark before the value, in text and in bytes', () => {
    expect(readJson('\uFEFF{"a":1}')).toEqual({ a: 1 });
    expect(readJson(Buffer.from('\uFEFF{"a":1}'))).toEqual({ a: 1 });
  });

  it('long numbers in documents whose numbers are not used', () => {
    expect(readJson('{"spiffe_sequence":17000000000000000001}', { roundsNumbers: true })).toBeDefined();
  });

  it('every output of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
        expect(findAmbiguity(JSON.stringify(value, null, indent))).toBeUndefined();
      }),
    );
  });
});
