import { assert, constantFrom, nat, oneof, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forTerminal, nameInTitle, shorten, truncate, truncateBytes, oneLine } from './truncate.js';

const FAMILY = '👨‍👩‍👧';
const FLAG = '🇩🇪';
const E_ACUTE = 'e\u0301';
/** Strings of any code points, including lone surrogates. */
const text = string({ unit: oneof(string({ unit: 'grapheme', minLength: 1, maxLength: 3 }), constantFrom('\ud83d', '\udd10', FAMILY, E_ACUTE)) }); // prettier-ignore

describe('a truncated text', () => {
  it.each([
    ['fits', 'abc', 3, 'abc'],
    ['ASCII', 'abcd', 3, 'abc'],
    ['a surrogate pair', 'ab🔐', 3, 'ab'],
    ['a surrogate pair that fits', 'ab🔐c', 4, 'ab🔐'],
    ['a letter and its accent', `ab${E_ACUTE}c`, 3, 'ab'],
    ['a joined emoji', `a${FAMILY}`, 5, 'a'],
    ['a flag of two letters', `${FLAG}${FLAG}`, 6, FLAG],
    ['CR LF', 'ab\r\nc', 3, 'ab'],
    ['half of a pair that it came with', 'a\ud83dbc', 2, 'a\ufffd'],
    ['nothing', '🔐', 0, ''],
  ])('keeps whole characters: %s', (_, from, max, to) => {
    expect(truncate(from, max)).toBe(to);
  });

  it('is cut between code points if one grapheme cluster exceeds the limit', () => {
    const stacked = `a${'\u0301'.repeat(500)}`;
    expect(truncate(stacked, 300)).toHaveLength(300);
    expect(truncate('🔐\u200d'.repeat(100), 199).isWellFormed()).toBe(true);
  });

  it('ends with an ellipsis, which counts towards the limit', () => {
    expect(shorten('abcdef', 4)).toBe('abc…');
    expect(shorten('ab🔐def', 4)).toBe('ab…');
    expect(shorten('abcd', 4)).toBe('abcd');
  });

  it.each([
    ['aé', 2, 'a'],
    ['aé', 3, 'aé'],
    ['€€', 5, '€'],
    ['🔐🔐', 7, '🔐'],
    [`x${E_ACUTE}`, 2, 'x'],
  ])('keeps whole UTF-8 sequences: %s in %i bytes', (from, max, to) => {
    expect(truncateBytes(from, max)).toBe(to);
  });

  it('is well-formed, within the limit, and a prefix of the original', () => {
    assert(
      property(text, nat(40), (from, max) => {
        const [cut, bytes] = [truncate(from, max), truncateBytes(from, max)];
        expect(cut.isWellFormed() && bytes.isWellFormed()).toBe(true);
        expect(cut.length).toBeLessThanOrEqual(max);
        expect(Buffer.byteLength(bytes)).toBeLessThanOrEqual(max);
        expect(from.toWellFormed().startsWith(cut)).toBe(true);
        expect(from.toWellFormed().startsWith(bytes)).toBe(true);
      }),
    );
  });

  it('costs time proportional to the result', () => {
    const long = 'a'.repeat(1_000_000);
    const began = process.cpuUsage();
    for (let i = 0; i < 1000; i += 1) truncate(long, 100);
    expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
  });
});

it.each([
  ['a header of its own', 'Key expired\r\nBcc: eve@example.com', 'Key expired Bcc: eve@example.com'],
  ['line separators', 'a\u2028b\u2029c\u0085d', 'a b c d'],
  ['colours of a terminal', 'a\u001b[31mb', 'a [31mb'],
  ['writing that runs backwards', 'invoice\u202efdp.exe', 'invoice fdp.exe'],
  ['spaces around', '\n a \t', 'a'],
  ['half of a surrogate pair', 'a\udd10', 'a\ufffd'],
])('oneLine removes %s', (_, given, line) => {
  expect(oneLine(given, 200)).toBe(line);
});

it.each(['\u3164', '\u2800', '\uffa0', '\u00ad', '\u200b'])(
  'a name in a title is not followed by an invisible gap of %j',
  (filler) => {
    expect(nameInTitle(`app.exe${filler.repeat(45)}with the key test`, 80)).toBe('app.exe with the key test');
  },
);

it('oneLine respects the limit, and ends with a whole character', () => {
  expect(oneLine(`${'x'.repeat(199)}🔐`, 200)).toBe('x'.repeat(199));
  expect(oneLine('\n'.repeat(500_000), 200)).toBe('');
});

it('text for a terminal shows control characters as escapes, and remains the same JSON', () => {
  expect(forTerminal('x\u001b[2K\rvalid: by release\u001b[8m\u009b1m\u202e')).toBe(
    String.raw`x\u001b[2K\u000dvalid: by release\u001b[8m\u009b1m\u202e`,
  );
  expect(forTerminal('two\nlines\tand ümlauts 🔑')).toBe('two\nlines\tand ümlauts 🔑');
  const value = { keyId: 'a\u001b\u009b\u2028' };
  expect(JSON.parse(forTerminal(JSON.stringify(value, null, 2)))).toEqual(value);
});
