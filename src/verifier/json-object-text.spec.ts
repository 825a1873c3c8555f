import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { JsonObjectText } from './json-object-text.js';

const facts = { algorithm: 'ES256', keyId: 'release' };
const read = (text: string) => new JsonObjectText(Buffer.from(text));
const canonical = (text: string) => [...read(text).canonicalWith(facts)].join('');

describe('a JSON object read in chunks', () => {
  it.each([
    { b: [{ z: 1, a: [[], [2]] }, 'x]', null, { '}': ',' }], a: { list: [3] }, empty: [], 'ä€😀': ['ä€😀', '\\"'] },
    { signature: { value: 'old' }, last: [1] },
    { signature: ['no signature'], z: 0 },
    { ['__proto__']: [1] },
    {},
  ])('has the canonical form of %j, whatever the formatting', (value) => {
    for (const indent of [0, 2, '\t']) {
      const text = JSON.stringify(value, null, indent);
      const whole = canonicalJson({ ...value, signature: facts });
      expect(canonical(text)).toBe(whole);
      const signed = Buffer.concat(read(text).signedBy(facts)).toString();
      expect(canonicalJson(JSON.parse(signed))).toBe(whole);
    }
  });

  it('may start with a byte order mark', () => {
    expect(canonical('\uFEFF{"a":[1]}')).toBe(canonical('{"a":[1]}'));
  });

  it('is read as a whole if member names contain escapes', () => {
    const text = String.raw`{"\u0061":[1],"b":[2]}`;
    expect(canonical(text)).toBe(canonicalJson({ a: [1], b: [2], signature: facts }));
    expect(JSON.parse(Buffer.concat(read(text).signedBy(facts)).toString())).toEqual({
      a: [1],
      b: [2],
      signature: facts,
    });
  });

  it('keeps its formatting when signed, using memory for one item', () => {
    const item = { text: 'x'.repeat(1000) };
    const text = `{\n  "items" : [\n${Array.from({ length: 100 }, () => JSON.stringify(item)).join(' ,\n')}\n  ]\n}\n`;
    const signed = Buffer.concat(read(text).signedBy(facts)).toString();
    expect(signed).toBe(`${text.slice(0, -2)},"signature":${JSON.stringify(facts)}}\n`);
    expect(Math.max(...[...read(text).canonicalWith(facts)].map(({ length }) => length))).toBeLessThan(1100);
  });

  it.each([
    ['a list', '[1]'],
    ['null', 'null'],
    ['what goes on after its end', '{"a":1} {}'],
    ['a comma too many', '{"a":[1,]}'],
    ['no comma', '{"a":[1 2]}'],
    ['a list that ends as an object', '{"a":[1}'],
    ['an object that ends as a list', '{"a":[{"b":1]]}'],
    ['a bracket too many', '{"a":[1]]}'],
    ['a value that is none', '{"a":[1,x]}'],
    ['a value that is none outside its lists', '{"a":x}'],
    ['a line break in a name', '{"a\n":1}'],
    ['nothing', ''],
    ['an object with a name twice', '{"version":99,"version":1,"a":[]}'],
    ['an object with a name twice in an item', '{"a":[{"b":{"c":1,"c":2}}]}'],
    ['an object with a number that a double changes', '{"a":[9007199254740993]}'],
    ['half a character', Buffer.from([0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d])],
  ])('cannot be %s', (_, text) => {
    const all = () => [...new JsonObjectText(Buffer.from(text as string)).canonicalWith(facts)];
    expect(all).toThrow(SyntaxError);
  });
});
