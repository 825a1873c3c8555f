import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clockOffset } from '../../src/signing/timestamping/sntp.js';
import { timeServer } from '../support/time-server.js';

const SECOND = 1000;
const YEAR = 365 * 24 * 3600 * SECOND;

it.each([
  ['as late as ours', 0],
  ['behind', -30 * SECOND],
  ['beyond February 2036, when the seconds of NTP begin again', 20 * YEAR],
])('the offset of a clock that is %s is measured', async (_, offBy) => {
  const server = await timeServer(offBy);
  const found = await clockOffset(server.address);
  server.close();
  expect(Math.abs(found - offBy)).toBeLessThan(SECOND);
});

describe('an unreachable time server', () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  beforeEach(() => process.on('unhandledRejection', note));
  afterEach(() => process.off('unhandledRejection', note));

  it.each([
    'http://time.example.com',
    'time.example.com:',
    '2001:db8::1:http',
    '127.0.0.1:1',
    '[::1]:1',
    'no-such-name.invalid',
  ])('%s rejects only the call, because an unhandled rejection would end the process', async (server) => {
    await expect(clockOffset(server, 200)).rejects.toBeInstanceOf(Error);
    await sleep(400);
    expect(unhandled).toEqual([]);
  });
});
