import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimMatches, faultOfPattern } from './claim-pattern.js';

describe('a claim pattern matches', () => {
  it.each([
    ['org/app', 'org/app'],
    ['refs/tags/v*', 'refs/tags/v1.2.0'],
    ['refs/tags/v*', 'refs/tags/v1.0.0+build_5'],
    ['org/*', 'org/app'],
    ['refs/heads/release/**', 'refs/heads/release/2027/q1'],
    ['repo:org/app:ref:refs/tags/*', 'repo:org/app:ref:refs/tags/v1'],
    ['system:serviceaccount:build:signer-*', 'system:serviceaccount:build:signer-7'],
    ['org/app/.github/workflows/*.yml@refs/tags/v*', 'org/app/.github/workflows/release.yml@refs/tags/v1'],
    ['v*-rc*', 'v1-rc2'],
    ['Ünïcode', 'Ünïcode'],
  ])('%s: %s', (pattern, value) => {
    expect(faultOfPattern(pattern)).toBeUndefined();
    expect(claimMatches(pattern, value)).toBe(true);
  });
});

describe('a claim pattern does not match', () => {
  it.each([
    ['another name with the same beginning', 'org/app', 'org/app-evil'],
    ['another name with the same end', 'org/app', 'evil/org/app'],
    ['another case', 'org/app', 'Org/App'],
    ['another case beside a wildcard', 'refs/tags/v*', 'refs/tags/V1'],
    ['a Cyrillic letter', 'org/app', 'оrg/app'],
    ['a Cyrillic letter beside a wildcard', 'org/*', 'оrg/app'],
    ['a look-alike under the wildcard', 'refs/tags/v*', 'refs/tags/v１'],
    ['a composed letter for two', '\u00e9', 'e\u0301'],
    ['a zero-width character', 'refs/tags/v*', 'refs/tags/v1\u200b'],
    ['a path upwards', 'refs/tags/v*', 'refs/tags/v1/../x'],
    ['a path upwards under the rest', 'refs/tags/**', 'refs/tags/../heads/main'],
    ['a dot segment under the wildcard', 'org/*', 'org/..'],
    ['an escaped slash', 'refs/tags/v*', 'refs/tags/v1%2f..%2fx'],
    ['a backslash', 'refs/tags/v*', String.raw`refs/tags/v1\x`],
    ['a second segment', 'org/*', 'org/app/evil'],
    ['an empty segment', 'org/**', 'org//app'],
    ['nothing under the wildcard', 'refs/tags/v*', 'refs/tags/v'],
    ['nothing under the rest', 'refs/tags/**', 'refs/tags/'],
    ['a branch with the name of a tag', 'refs/tags/v*', 'refs/heads/refs/tags/v1'],
    ['another separator', 'repo:org/app:ref:*', 'repo:org/app/ref/x'],
    ['a pull request under the rest of a repository', 'repo:org/**', 'repo:org/app:pull_request'],
    ['a line feed', 'org/*', 'org/app\n'],
    ['white space', 'org/*', 'org/ app'],
  ])('%s', (_what, pattern, value) => {
    expect(claimMatches(pattern, value)).toBe(false);
  });
});

describe('a claim pattern is rejected as too broad or malformed', () => {
  it.each(['*', '**', '*/app', 'org*/app', 'a/**/b', 'a/b**', 'a:**', 'v**', 'örg/*', 'org /*', 'a\u0000b'])(
    '%j',
    (pattern) => {
      expect(faultOfPattern(pattern)).toBeTypeOf('string');
    },
  );
});

it('the matcher agrees with an equivalent regular expression for arbitrary patterns and values', () => {
  const letters = string({ unit: constantFrom('a', 'b', '*', '/', '.', ':', 'é'), maxLength: 10 });
  assert(
    property(letters, letters, (pattern, value) => {
      const expected = pattern.includes('*')
        ? expressionOf(pattern).test(value) && !hasTrick(value)
        : pattern === value;
      expect(faultOfPattern(pattern) !== undefined || claimMatches(pattern, value) === expected).toBe(true);
    }),
    { numRuns: 3000 },
  );
});

function expressionOf(pattern: string): RegExp {
  const source = pattern
    .replaceAll('.', String.raw`\.`)
    .replace(/\/\*\*$/, String.raw`(?:/[\w.~+@=-]+)#`)
    .replaceAll('*', String.raw`[\w.~+@=-]+`)
    .replace('#', '+');
  return new RegExp(`^${source}$`);
}

function hasTrick(value: string): boolean {
  return value.split(/[/:]/).some((segment) => ['', '.', '..'].includes(segment));
}

it('a hostile pattern and value are matched in bounded time', () => {
  const started = performance.now();
  expect(claimMatches(`a${'*a'.repeat(200)}b`, 'a'.repeat(10_000))).toBe(false);
  expect(performance.now() - started).toBeLessThan(500);
});
