import { describe, expect, it } from 'vitest';
import { queryCondition, verdictCondition } from './query-condition.js';
import { QueryFault } from './query-tokens.js';

const NOW = new Date('2026-06-01T00:00:00Z');

function written(query: string): { condition: string; values: unknown[] } {
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  return { condition: queryCondition(query, { alias: 'a', bind, now: NOW }), values };
}

function ofVerdicts(query: string): string {
  return verdictCondition(query, { alias: 'v', bind: (value) => JSON.stringify(value), now: NOW });
}

function fault(query: string): [number, string] {
  try {
    written(query);
  } catch (error) {
    if (error instanceof QueryFault) return [error.column, error.detail];
    throw error;
  }
  throw new Error('the query was taken');
}

describe('an asset query', () => {
  it.each([
    ['family=RSA and name=web*', '(((v.family = "RSA")) AND true)'],
    ['family=RSA or name=web*', '(((v.family = "RSA")) OR true)'],
    ['kind=algorithm and not level=HIGH', '(v.kind = ANY(["algorithm"]) AND coalesce(NOT ((v.level = 3)), true))'],
    ['not (family=RSA and owner=web)', 'true'],
    ['kind=component', 'true'],
    ['kind!=algorithm', 'true'],
  ])('implies a condition on verdicts: %s', (query, condition) => {
    expect(ofVerdicts(query)).toBe(condition);
  });

  it('matches labels and locations with indexable conditions, all values at once', () => {
    expect(written('label in (pci, legacy)').condition).toBe("((a.labels <> '{}' AND (a.labels && $1::text[])))");
    expect(written('location in ("db*", web)').condition.match(/EXISTS/g)).toHaveLength(1);
    expect(written('location="*"').condition).not.toContain("<> ''");
    expect(written('location=""').condition).not.toContain("<> ''");
  });

  it('binds its values and keeps parentheses', () => {
    expect(written('level>=HIGH and (family=RSA or bits<3072)')).toEqual({
      condition: '((a.level >= $1) AND (((a.family = $2)) OR (a.bits < $3)))',
      values: [3, 'RSA', 3072],
    });
  });

  it.each<[query: string, values: unknown[]]>([
    ['family in (EC, "ECDSA")', ['EC', 'ECDSA']],
    [String.raw`name="a \"b\" 100%_*"`, [String.raw`a "b" 100\%\_%`]],
    ['notAfter<+30d', ['2026-07-01T00:00:00.000Z']],
    ['firstSeen>=2026-01-31', ['2026-01-31T00:00:00.000Z']],
    ['NOT host=db*', ['db%', 'db']],
    ['host="100%"', [String.raw`100\%%`, '100%']],
    ['host=a*b', ['a%', 'a%b']],
    ['host=*db', ['%db']],
  ])('binds the values of %s', (query, values) => {
    expect(written(query).values).toEqual(values);
  });

  it.each<[query: string, column: number, detail: RegExp]>([
    ['', 1, /field name/],
    ['level>=WORST', 8, /one of NONE/],
    ['colour=red', 1, /no field "colour"/],
    ['constructor=red', 1, /no field "constructor"/],
    ['family=RSA and bits<many', 21, /integer/],
    ['family=RSA bits<1', 12, /"and", "or" or the end/],
    ['(family=RSA', 12, /expected \)/],
    ['name="open', 6, /not closed/],
    ['name<x', 6, /only = and !=/],
    ['family=RSA and', 15, /field name/],
    ['bits ! 3', 6, /unexpected character/],
    ['notAfter<soon', 10, /date/],
    ['('.repeat(30), 22, /deeper/],
    [Array.from({ length: 60 }, () => 'bits=1').join(' or '), 501, /more than 50/],
  ])('is rejected with the column of the fault: %s', (query, column, detail) => {
    expect(fault(query)).toEqual([column, expect.stringMatching(detail)]);
  });
});
