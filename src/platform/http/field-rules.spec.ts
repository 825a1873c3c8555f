import 'reflect-metadata';
import { describe, expect, it } from 'vitest';
import { IsDateTime, IsDay } from './field-rules.js';
import { checkedBody } from './validation.js';

class Moments {
  @IsDateTime()
  at: Date;

  @IsDay()
  day: string;
}

const read = (body: object) => checkedBody(Moments, { at: '2027-01-31', day: '2027-01-31', ...body }, '');

describe('a timestamp field', () => {
  it.each([
    ['2027-01-31T10:00:00Z', '2027-01-31T10:00:00.000Z'],
    ['2027-01-31t10:00:00.25+02:00', '2027-01-31T08:00:00.250Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ])('accepts %s', async (at, iso) => {
    expect((await read({ at })).at.toISOString()).toBe(iso);
  });

  it.each([
    1_800_000_000,
    true,
    ['2027-01-31'],
    { toString: 'x', valueOf: 1 },
    '2027',
    '1/31/2027',
    '2027-02-30',
    '2027-02-30T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-01-31T10:00:00',
    '2027-01-31T25:00:00Z',
    '0000-01-01T00:00:00Z',
    '-000001-01-01T00:00:00Z',
    '+275760-09-13T00:00:00Z',
  ])('rejects %j', async (at) => {
    await expect(read({ at })).rejects.toMatchObject({ code: 'request.invalid', errors: [{ pointer: '/at' }] });
  });
});

it('a timestamp that lost its + in a URL is rejected with the correct encoding', async () => {
  const detail = expect.stringContaining('encode the + of the time zone as %2B');
  await expect(read({ at: '2027-01-31T10:00:00 02:00' })).rejects.toMatchObject({
    errors: [{ pointer: '/at', detail }],
  });
});

describe('a date field', () => {
  it.each(['2027-02-30', '2027-2-3', '0000-01-01', '2027-01-31T00:00:00Z', '', 20270131, null])(
    'rejects %j',
    async (day) => {
      await expect(read({ day })).rejects.toMatchObject({ code: 'request.invalid', errors: [{ pointer: '/day' }] });
    },
  );
});
