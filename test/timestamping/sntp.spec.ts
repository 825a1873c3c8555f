import { expect, it } from 'vitest';
import { clockOffset } from '../../src/signing/timestamping/sntp.js';
import { timeServer } from '../support/time-server.js';

const SECOND = 1000;
const YEAR = 365 * 24 * 3600 * SECOND;

it.each([
  ['as late as ours', 0],
  ['behind', -30 * SECOND],
  ['beyond February 2036, when the seconds of NTP begin again', 20 * YEAR],
])('a clock that is %s', async (_, offBy) => {
  const server = await timeServer(offBy);
  const found = await clockOffset(server.address);
  server.close();
  expect(Math.abs(found - offBy)).toBeLessThan(SECOND);
});
