import { describe, expect, it } from 'vitest';
import { outlineOf, stretchesOf, withoutLists } from './json-outline.js';

const bytes = (text: string) => Buffer.from(text);

function membersOf(text: string): Record<string, string> | undefined {
  const outline = outlineOf(bytes(text));
  return outline && Object.fromEntries([...outline].map(([name, { start, end }]) => [name, cut(text, start, end)]));
}

function cut(text: string, start: number, end: number): string {
  return bytes(text).subarray(start, end).toString().trimEnd();
}

describe('the outline of a JSON text', () => {
  it.each([
    { a: 1, b: 'x', c: [1, [2, { d: '}' }]], e: { f: null } },
    { 'ä€😀': 'ä€😀', quotes: '"\\"', brackets: '[{"', backslash: '\\', list: ['\\"', '\\\\'] },
    {},
    { empty: [], object: {}, text: '', no: false },
  ])('contains the values of %j, whatever the formatting', (value) => {
    for (const indent of [0, 2, '\t']) {
      const found = membersOf(JSON.stringify(value, null, indent)) ?? {};
      const parsed = Object.entries(found).map(([name, text]) => [name, JSON.parse(text) as unknown]);
      expect(Object.fromEntries(parsed)).toEqual(Object.keys(value).length === 0 ? {} : value);
    }
  });

  it.each([
    ['a list', '[1]'],
    ['a name that comes twice', '{"a":1,"a":2}'],
    ['a name with escapes', String.raw`{"\u0061":1}`],
    ['a text that ends too soon', '{"a":[1,2'],
    ['a string that never ends', '{"a":"b'],
    ['nothing', ''],
    ['a list that another bracket ends', '{"a":[1,2}'],
    ['a list with something behind it', '{"a":[1,2] 3}'],
  ])('is undefined for %s', (_, text) => {
    expect(outlineOf(bytes(text))).toBeUndefined();
  });

  it('counts the members of each section of a list, including duplicates', () => {
    const text = '{"list":[{"a":1,"b":{"a":":"}},{"a":1,"a":2},[":",{"c:":[]}]]}';
    expect(outlineOf(bytes(text))?.get('list')?.members).toEqual([6]);
  });

  it('removes lists and nothing else', () => {
    const text = '{ "b" : [1, "]"] , "a":"[", "c":{"b":[2]}, "d":[3] }';
    const outline = outlineOf(bytes(text)) ?? new Map();
    const rest = withoutLists(bytes(text), outline, ['d', 'b', 'a', 'missing']).toString();
    expect(JSON.parse(rest)).toEqual({ a: '[', b: [], c: { b: [2] }, d: [] });
  });

  it('finds positions to split a long list between items, despite commas and brackets inside them', () => {
    const item = (index: number) => ({ index, list: [1, [2, 3]], text: '],[,{}' + 'x'.repeat(index % 700) });
    const items = Array.from({ length: 2000 }, (_, index) => item(index));
    for (const indent of [0, 2]) {
      const text = bytes(JSON.stringify({ a: [1], items, b: { c: items } }, null, indent));
      const list = outlineOf(text)?.get('items') ?? { start: 0, end: 0, cuts: [], members: [] };
      const stretches = [...stretchesOf(text, list)].map(({ start, end }) => text.toString('utf8', start, end));
      expect(stretches.length).toBeGreaterThan(10);
      expect(stretches.flatMap((stretch) => JSON.parse(`[${stretch}]`) as unknown[])).toEqual(items);
      expect(Math.max(...stretches.map(({ length }) => length))).toBeLessThan(40_000);
    }
  });
});
