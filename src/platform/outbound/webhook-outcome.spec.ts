import { describe, expect, it } from 'vitest';
import { afterAttempt } from './webhook-outcome.js';

const answer = (
  status: number,
  { body = '', headers = {} }: { body?: string; headers?: Record<string, string> } = {},
) => afterAttempt({ status, headers, body }, 1);

describe('the answer of a receiver', () => {
  it.each([200, 201, 202, 204, 299])('%i is success, with a body or without', (status) => {
    expect(answer(status)).toMatchObject({ status: 'DELIVERED' });
  });

  it('200 is none where it says that Teams refused the message', () => {
    const body = 'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429.';
    const failure = 'the receiver answered 200, but did not deliver';
    expect(answer(200, { body })).toMatchObject({ status: 'PENDING', failure });
    expect(answer(200, { body: 'ok' })).toMatchObject({ status: 'DELIVERED' });
  });

  it.each([302, 307, 400, 404, 429, 500, 503])('%i is tried again: no redirect is followed', (status) => {
    expect(answer(status)).toMatchObject({ status: 'PENDING', failure: `the receiver answered ${status}` });
  });

  it('410 ends it for good', () => {
    const ended = answer(410, { body: 'channel_is_archived' });
    expect(ended).toMatchObject({ status: 'GIVEN_UP', gone: true });
    expect(ended.failure).toBe('the receiver answered 410: channel_is_archived');
  });

  it('is named by the word that says what is wrong, and nothing else of it is shown', () => {
    expect(answer(400, { body: 'invalid_blocks\n' }).failure).toBe('the receiver answered 400: invalid_blocks');
    for (const body of ['<html>', 'root:x:0:0', '{"secret":"x"}', 'a'.repeat(5000), 'Bad Request'])
      expect(answer(400, { body }).failure).toBe('the receiver answered 400');
  });

  it.each([
    ['30', 30, 33.1],
    ['600', 600, 661],
    ['0', 5, 5.6],
    ['-1', 5, 5.6],
    ['soon', 5, 5.6],
    ['1e9', 86_400, 95_041],
    ['Infinity', 5, 5.6],
  ])('that asks for a pause of %j gets one', (asked, min, max) => {
    const { pauseSeconds } = answer(429, { headers: { 'retry-after': asked } });
    expect(pauseSeconds).toBeGreaterThanOrEqual(min);
    expect(pauseSeconds).toBeLessThanOrEqual(max);
  });

  it('that names a date is asked again then', () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    expect(answer(503, { headers: { 'retry-after': date } }).pauseSeconds).toBeGreaterThan(3500);
  });
});
