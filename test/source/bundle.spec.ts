import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { inAscii, ownMappings } from '../../scripts/lib/bundle.mjs';

const OWN = 0;
const PACKAGE = 1;

it('a bundle source map points to project sources, and maps lines of packages nowhere', () => {
  const lines = [
    [
      [0, OWN, 4, 0],
      [8, OWN, 4, 6],
    ],
    [
      [0, PACKAGE, 70, 0],
      [9, PACKAGE, 70, 2],
    ],
    [],
    [[2, PACKAGE, 71, 0]],
    [
      [0, PACKAGE, 72, 0],
      [5, OWN, 9, 0],
      [7, PACKAGE, 80, 0],
    ],
  ];
  expect(ownMappings(lines, [true, false])).toEqual([lines[0], [[0]], [], [], [[5, OWN, 9, 0], [7]]]);
});

it('an ASCII bundle keeps its meaning: strings, templates, character classes, names', () => {
  const code =
    'const größeſ = 0; [größeſ, "“é” 😀", `${1}…`, /^[–—]$/.test("—"), /^[😀]$/u.test("😀"), /^ſ/v.test("ſ")]';
  const ascii = inAscii(code);
  expect(Buffer.from(ascii, 'ascii').toString('ascii')).toBe(ascii);
  expect(runInNewContext(ascii)).toEqual(runInNewContext(code));
});

it('a character that is already escaped is rejected, because a second escape would change its meaning', () => {
  expect(() => inAscii(String.raw`/\–/`)).toThrow('cannot be escaped again');
});
