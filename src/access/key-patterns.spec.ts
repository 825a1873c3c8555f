import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { describe, expect, it } from 'vitest';
import { assertIncludesKey, includesKey, includesPatterns, KeyPatternList } from './key-patterns.js';

class LimitsBody {
  @KeyPatternList({ min: 1, example: ['release-*'] }) keys: string[];
}

describe('a pattern', () => {
  it.each([
    ['release', 'release'],
    ['release-*', 'release-a'],
    ['release-*', 'release-'],
    ['*', 'default'],
    ['**', 'default'],
    ['*-sec', 'prod-sec'],
    ['eu-*-release', 'eu-west-1-release'],
    ['a*a', 'aa'],
    ['a.b', 'a.b'],
  ])('%s includes the key %s', (pattern, name) => {
    expect(includesKey([pattern], name)).toBe(true);
  });

  it.each([
    ['release', 'release-a'],
    ['release', 'my-release'],
    ['release-*', 'release'],
    ['release-*', 'pre-release-a'],
    ['*-sec', 'prod-sec-2'],
    ['eu-*-release', 'eu-release'],
    ['a*a', 'a'],
    ['a.b', 'axb'],
    ['a?b', 'axb'],
    ['[a-z]', 'a'],
    ['.*', 'default'],
    ['Release-*', 'release-a'],
    ['', 'default'],
  ])('%s does not include the key %s', (pattern, name) => {
    expect(includesKey([pattern], name)).toBe(false);
  });

  it('with many wildcards is compared in linear time', () => {
    const pattern = 'a*'.repeat(31);
    const began = performance.now();
    for (let i = 0; i < 10_000; i += 1) includesKey([`${pattern}b`], 'a'.repeat(63));
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

describe('the limits of a credential', () => {
  it('include every key if there are none, and no key if the list is empty', () => {
    expect([undefined, null].map((none) => includesKey(none, 'default'))).toEqual([true, true]);
    expect(includesKey([], 'default')).toBe(false);
  });

  it('include a key that one of several patterns includes', () => {
    expect(includesKey(['ci', 'release-*'], 'release-a')).toBe(true);
  });

  it('name the key as the caller named it, and the kind of the limit', () => {
    const refusal = (kind: 'api-key' | 'workload') => () =>
      assertIncludesKey({ kind, keys: ['a'] }, 'secret-name', 'the-id');
    expect(refusal('api-key')).toThrow('/key: this credential does not allow key "the-id".');
    expect(refusal('api-key')).toThrow(expect.objectContaining({ code: 'credential.key', kind: 'forbidden' }));
    expect(refusal('workload')).toThrow(expect.objectContaining({ code: 'workload-trust.key', kind: 'forbidden' }));
  });
});

describe('limits that a credential grants', () => {
  it.each<[outer: string[] | null, inner: string[] | null]>([
    [null, null],
    [null, ['a']],
    [['*'], null],
    [['a-*'], ['a-*']],
    [['a-*'], ['a-b', 'a-b-*', 'a-*-b']],
    [['*-x'], ['a*-x']],
    [['a', 'b'], ['b']],
    [['a'], []],
  ])('%j include %j', (outer, inner) => {
    expect(includesPatterns(outer, inner)).toBe(true);
  });

  it.each<[outer: string[], inner: string[] | null]>([
    [['a-*'], null],
    [['a-*'], ['*']],
    [['a-*'], ['a*']],
    [['a-*'], ['a-*', 'b']],
    [['a'], ['a*']],
    [['a-*-b'], ['a-*']],
    [['*-x'], ['*x']],
    [[], ['a']],
  ])('%j do not include %j', (outer, inner) => {
    expect(includesPatterns(outer, inner)).toBe(false);
  });
});

describe('a list of patterns', () => {
  const faultsOf = (keys: unknown) => validateSync(plainToInstance(LimitsBody, { keys }));

  it.each([[['release']], [['release-*', 'ci_2.x']], [['*']]])('can be %j', (keys) => {
    expect(faultsOf(keys)).toEqual([]);
  });

  it.each([
    [[]],
    [['']],
    [['Release']],
    [['release key']],
    [['rel\u0435ase-*']],
    [['release\n']],
    [['release?']],
    [['a', 'a']],
    [['a'.repeat(65)]],
    [[1]],
    ['release'],
    [null],
    [Array.from({ length: 201 }, (_, i) => `key-${i}`)],
  ])('cannot be %j', (keys) => {
    expect(faultsOf(keys)).not.toEqual([]);
  });
});
