import { describe, expect, it } from 'vitest';
import { isKnown } from './versions.js';

describe('If-None-Match', () => {
  it.each([
    ['the tag itself', '"a1"', true],
    ['the tag as a proxy weakened it', 'W/"a1"', true],
    ['one of several', '"b2", W/"a1"', true],
    ['any', '*', true],
    ['another', '"b2"', false],
    ['a tag without its quotation marks', 'a1', false],
    ['nothing', undefined, false],
  ])('with %s is evaluated', (_, header, known) => {
    expect(isKnown(header, '"a1"')).toBe(known);
  });
});
