import { describe, expect, it } from 'vitest';
import { isTimeZone, type SigningHours, withinHours } from './signing-hours.js';

const OFFICE: SigningHours = {
  days: ['mon', 'tue', 'wed', 'thu', 'fri'],
  from: '08:00',
  until: '18:00',
  timeZone: 'Europe/Berlin',
};

describe('withinHours', () => {
  it.each([
    ['2027-07-14T05:59:59Z', false], // Wednesday 07:59 in summer time
    ['2027-07-14T06:00:00Z', true],
    ['2027-07-14T15:59:59Z', true],
    ['2027-07-14T16:00:00Z', false],
    ['2027-01-13T06:59:59Z', false], // in winter one hour later
    ['2027-01-13T07:00:00Z', true],
    ['2027-07-17T10:00:00Z', false], // Saturday
  ])('%s: %s', (time, within) => {
    expect(withinHours(OFFICE, new Date(time))).toBe(within);
  });

  it('takes the day of the time zone, and 24:00 as its end', () => {
    const sunday: SigningHours = { days: ['sun'], from: '00:00', until: '24:00', timeZone: 'Pacific/Auckland' };
    expect(withinHours(sunday, new Date('2027-07-17T12:00:00Z'))).toBe(true); // there it is Sunday 00:00
    expect(withinHours(sunday, new Date('2027-07-17T11:59:00Z'))).toBe(false);
    expect(withinHours(sunday, new Date('2027-07-18T11:59:00Z'))).toBe(true);
  });
});

it.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Mars/Olympus', false],
])('%s is a time zone: %s', (name, is) => {
  expect(isTimeZone(name)).toBe(is);
});
