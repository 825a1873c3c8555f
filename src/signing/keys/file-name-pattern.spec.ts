import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitsPattern } from './file-name-pattern.js';

describe('fitsPattern', () => {
  it.each([
    ['app-1.2.0.tar.gz', 'app-*.tar.gz', true],
    ['app-.tar.gz', 'app-*.tar.gz', true],
    ['app-1.zip', 'app-*.tar.gz', false],
    ['dist/app.exe', '*.exe', true],
    ['app.exe.txt', '*.exe', false],
    ['a1', 'a?', true],
    ['a', 'a?', false],
    ['axb', 'a.b', false],
    ['', '*', true],
    ['', '', true],
    ['x', '', false],
    ['aXbXc', 'a*b*c', true],
    ['abab', '*ab', true],
  ])('%j and %j: %s', (name, pattern, fits) => {
    expect(fitsPattern(name, pattern)).toBe(fits);
  });

  it('agrees with a regular expression', () => {
    const letters = string({ unit: constantFrom('a', 'b', '*', '?', '.'), maxLength: 12 });
    assert(
      property(letters, letters, (name, pattern) => {
        const escaped = pattern
          .replaceAll('.', String.raw`\.`)
          .replaceAll('*', '.*')
          .replaceAll('?', '.');
        expect(fitsPattern(name, pattern)).toBe(new RegExp(`^${escaped}$`).test(name));
      }),
      { numRuns: 2000 },
    );
  });

  it('does not take long over a hostile pattern', () => {
    const started = performance.now();
    expect(fitsPattern('a'.repeat(1000), '*a'.repeat(99) + 'b')).toBe(false);
    expect(performance.now() - started).toBeLessThan(500);
  });
});
