import { describe, expect, it } from 'vitest';
import { dueSpan, dueTimes, nextDue, type Timetable, timetableFault } from './due-times.js';

const berlin = (cron: string): Timetable => ({
  cron,
  intervalSeconds: null,
  timeZone: 'Europe/Berlin',
  createdAt: new Date(0),
});
const every = (intervalSeconds: number, createdAt = '2027-01-01T00:00:00Z'): Timetable => ({
  cron: null,
  intervalSeconds,
  timeZone: 'UTC',
  createdAt: new Date(createdAt),
});
const times = (table: Timetable, after: string, count: number) =>
  dueTimes(table, new Date(after), count).map((time) => time.toISOString().slice(5, 16));

describe('on 28 March 2027, when Berlin has no 02:00 to 03:00', () => {
  it('a time in the gap is due at the end of the gap', () => {
    expect(times(berlin('30 2 * * *'), '2027-03-27T00:00:00Z', 3)).toEqual([
      '03-27T01:30',
      '03-28T01:00',
      '03-29T00:30',
    ]);
  });
  it('a half-hourly schedule continues', () => {
    const expected = ['03-28T00:30', '03-28T01:00', '03-28T01:30', '03-28T02:00'];
    expect(times(berlin('*/30 * * * *'), '2027-03-28T00:00:00Z', 4)).toEqual(expected);
  });
});

describe('on 31 October 2027, when Berlin has 02:00 to 03:00 twice', () => {
  it('a fixed time is due once, at its first occurrence', () => {
    expect(times(berlin('30 2 * * *'), '2027-10-30T00:00:00Z', 3)).toEqual([
      '10-30T00:30',
      '10-31T00:30',
      '11-01T01:30',
    ]);
  });
  it('and is not due again for a worker that checks between both', () => {
    expect(times(berlin('30 2 * * *'), '2027-10-31T00:30:00Z', 1)).toEqual(['11-01T01:30']);
  });
  it('a half-hourly schedule continues through both', () => {
    const expected = ['10-31T00:00', '10-31T00:30', '10-31T01:00', '10-31T01:30', '10-31T02:00'];
    expect(times(berlin('*/30 * * * *'), '2027-10-30T23:30:00Z', 5)).toEqual(expected);
  });
});

describe('a day that some months lack', () => {
  it('is due only in months that have it, not on another day', () => {
    expect(times(berlin('0 12 31 * *'), '2027-01-01T00:00:00Z', 3)).toEqual([
      '01-31T11:00',
      '03-31T10:00',
      '05-31T10:00',
    ]);
    expect(times(berlin('0 12 30 * *'), '2027-01-31T00:00:00Z', 2)).toEqual(['03-30T10:00', '04-30T10:00']);
  });
  it('is the last day of each month, whatever its length', () => {
    const last = ['01-31T11:00', '02-28T11:00', '03-31T10:00', '04-30T10:00'];
    expect(times(berlin('0 12 L * *'), '2027-01-01T00:00:00Z', 4)).toEqual(last);
    expect(times(berlin('0 12 L 2 *'), '2028-01-01T00:00:00Z', 1)).toEqual(['02-29T11:00']);
  });
  it('is 29 February in leap years', () => {
    expect(nextDue(berlin('0 12 29 2 *'), new Date('2027-01-01T00:00:00Z'))).toEqual(new Date('2028-02-29T11:00:00Z'));
  });
  it('matches either if both a day of the month and a day of the week are given, as in cron', () => {
    expect(times(berlin('0 12 1 * 1'), '2027-02-28T12:00:00Z', 3)).toEqual([
      '03-01T11:00',
      '03-08T11:00',
      '03-15T11:00',
    ]);
  });
});

describe.each([
  // A half-hour shift in the southern hemisphere, a shift at midnight, and a time zone without daylight saving time.
  ['Australia/Lord_Howe', '15 2 * * *', '2027-10-01T15:30:00Z', ['10-01T15:45', '10-02T15:30', '10-03T15:15']],
  ['America/Santiago', '30 0 * * *', '2027-09-03T12:00:00Z', ['09-04T04:30', '09-05T04:00', '09-06T03:30']],
  ['Asia/Kathmandu', '0 0 * * *', '2027-03-27T20:00:00Z', ['03-28T18:15']],
])('in %s', (timeZone, cron, after, expected) => {
  it(`"${cron}" is due at ${expected.join(', ')}`, () => {
    expect(times({ ...berlin(cron), timeZone }, after, expected.length)).toEqual(expected);
  });
});

describe('an interval', () => {
  it('is measured in elapsed time, regardless of the clock', () => {
    expect(times(every(7200), '2027-03-28T00:30:00Z', 3)).toEqual(['03-28T02:00', '03-28T04:00', '03-28T06:00']);
  });
  it('is first due after one interval', () => {
    expect(nextDue(every(60), new Date('2026-01-01T00:00:00Z'))).toEqual(new Date('2027-01-01T00:01:00Z'));
  });
});

describe('missed runs', () => {
  const at = (text: string) => new Date(`2027-05-01T${text}Z`);
  it('yield the last due time and the number of earlier ones', () => {
    expect(dueSpan(every(60), at('00:10:00'), at('00:15:30'))).toEqual({ last: at('00:15:00'), earlier: 5 });
    expect(dueSpan(berlin('*/10 * * * *'), at('00:10:00'), at('00:45:00'))).toEqual({
      last: at('00:40:00'),
      earlier: 3,
    });
  });
  it('are zero when the schedule is on time', () => {
    expect(dueSpan(berlin('*/10 * * * *'), at('00:10:00'), at('00:10:00'))).toEqual({
      last: at('00:10:00'),
      earlier: 0,
    });
    expect(dueSpan(every(60), at('00:10:00'), at('00:10:00'))).toEqual({ last: at('00:10:00'), earlier: 0 });
  });
  it('are counted up to 100, so that a year of minutes is cheap', () => {
    const { last, earlier } = dueSpan(berlin('* * * * *'), new Date('2026-05-01T00:00:00Z'), at('00:00:30'));
    expect([last, earlier]).toEqual([at('00:00:00'), 100]);
  });
  it('are zero after the clock was set back', () => {
    expect(dueSpan(every(60), at('00:10:00'), at('00:05:00'))).toEqual({ last: at('00:10:00'), earlier: 0 });
  });
});

it.each([
  [{ ...berlin('* * * * * *') }, '/cron'],
  [{ ...berlin('61 * * * *') }, '/cron'],
  [{ ...berlin('0 0 30 2 *') }, '/cron'],
  [{ ...berlin('0 0 * * *'), timeZone: 'Mars/Olympus' }, '/timeZone'],
  [{ ...berlin('0 0 * * *'), intervalSeconds: 60 }, '/cron'],
])('%j is rejected', (table, pointer) => {
  expect(timetableFault(table)?.pointer).toBe(pointer);
});
