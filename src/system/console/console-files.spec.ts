import { describe, expect, it } from 'vitest';
import { codingFor, type Coding, type ConsoleFile } from './console-files.js';

const file = (...codings: Coding[]): ConsoleFile => ({
  type: 'text/css',
  tag: '"1"',
  bytes: new Map(codings.map((coding) => [coding, Buffer.from(coding)])),
});

describe('the content coding of a console file', () => {
  const all = file('identity', 'gzip', 'br');

  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP;q=0.5', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.000', 'identity'],
    ['', 'identity'],
    [undefined, 'identity'],
  ] as const)('for %j is %s', (accepted, coding) => {
    expect(codingFor(accepted, all)).toBe(coding);
  });

  it('is one that exists for the file', () => {
    expect(codingFor('br, gzip', file('identity', 'gzip'))).toBe('gzip');
    expect(codingFor('br, gzip', file('identity'))).toBe('identity');
  });
});
