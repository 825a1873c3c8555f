import { describe, expect, it } from 'vitest';
import { createdWithin, filteredList, nameIs } from './list-filter.js';
import { timeOfId } from '../database/new-id.js';

/** Runs a function with a BindValue and returns the result with the bound values. */
function bound<Result>(work: (bind: (value: unknown) => string) => Result): [Result, unknown[]] {
  const values: unknown[] = [];
  return [work((value) => `$${values.push(value)}`), values];
}

describe('nameIs', () => {
  it.each(['release', '100%', 'a_b', '*a', 'a*b', String.raw`a\*b`])('compares %j as a whole', (name) => {
    expect(bound((bind) => nameIs('k.name', name, bind))).toEqual(['k.name = $1', [name]]);
  });

  it.each([
    ['release*', 'release'],
    ['a_%*', 'a_%'],
    ['**', '*'],
    ['*', ''],
  ])('compares the start of names with %j', (name, start) => {
    const [condition, values] = bound((bind) => nameIs('k.name', name, bind));
    expect(condition).toBe('(k.name ~>=~ $1 AND k.name ~<~ $2)');
    expect(values).toEqual([start, `${start}\u{10ffff}`]);
  });
});

describe('filteredList', () => {
  it('keeps the name of a list without a filter, so that cursors of the previous version stay valid', () => {
    expect(filteredList('users', { email: undefined })).toBe('users');
  });

  it('differs for each value and each filter, whatever the order', () => {
    const lists = [{ name: 'a' }, { name: 'b' }, { key: 'a' }, { name: 'a', key: 'b' }, { name: 'a","b' }];
    expect(new Set(lists.map((filter) => filteredList('list', filter))).size).toBe(lists.length);
    expect(filteredList('list', { a: 1, b: 2 })).toBe(filteredList('list', { b: 2, a: 1 }));
  });

  it('has the same length for every filter, because the name is part of each cursor', () => {
    const lengths = ['a', '版'.repeat(200)].map((reference) => filteredList('list', { reference }).length);
    expect(lengths[0]).toBe(lengths[1]);
  });
});

describe('createdWithin', () => {
  const columns = { id: 'r.id', createdAt: 'r.created_at' };

  it('bounds the ID with a one-minute tolerance for clock differences', () => {
    const [from, to] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')];
    const [conditions, values] = bound((bind) => createdWithin({ from, to }, columns, bind));
    expect(conditions).toEqual(['r.created_at >= $1', 'r.id >= $2', 'r.created_at < $3', 'r.id < $4']);
    expect([values[0], values[2]]).toEqual([from, to]);
    expect(timeOfId(String(values[1]))).toBe(from.getTime() - 60_000);
    expect(timeOfId(String(values[3]))).toBe(to.getTime() + 60_000);
  });

  it('accepts times before 1970 and up to the year 9999', () => {
    const span = { from: new Date('0001-01-01T00:00:00Z'), to: new Date('9999-12-31T23:59:59Z') };
    const [, values] = bound((bind) => createdWithin(span, columns, bind));
    for (const id of [values[1], values[3]]) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7000-8000-0{12}$/);
  });

  it('rejects a period that does not end after it begins', () => {
    const at = new Date();
    expect(() => bound((bind) => createdWithin({ from: at, to: at }, columns, bind))).toThrow(
      '/to: must be later than "from".',
    );
  });
});
