import { describe, expect, it } from 'vitest';
import { afterAttempt } from './webhook-outcome.js';

const answer = (
  status: number,
  { body = '', headers = {} }: { body?: string; headers?: Record<string, string> } = {},
) => afterAttempt({ status, headers, body }, 1);

describe('a webhook response', () => {
  it.each([200, 201, 202, 204, 299])('%i is a success, with or without a body', (status) => {
    expect(answer(status)).toMatchObject({ status: 'DELIVERED' });
  });

  it('200 is a failure if it reports that Teams rejected the message', () => {
    const body = 'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429.';
    const failure = 'the receiver responded with 200 but did not deliver the message';
    expect(answer(200, { body })).toMatchObject({ status: 'PENDING', failure });
    expect(answer(200, { body: 'ok' })).toMatchObject({ status: 'DELIVERED' });
  });

  it.each([302, 307, 400, 404, 429, 500, 503])('%i is retried, and redirects are not followed', (status) => {
    expect(answer(status)).toMatchObject({ status: 'PENDING', failure: `the receiver responded with ${status}` });
  });

  it('410 fails permanently', () => {
    const ended = answer(410, { body: 'channel_is_archived' });
    expect(ended).toMatchObject({ status: 'GIVEN_UP', gone: true });
    expect(ended.failure).toBe('the receiver responded with 410: channel_is_archived');
  });

  it('is described by its error code only, without the rest of the body', () => {
    expect(answer(400, { body: 'invalid_blocks\n' }).failure).toBe('the receiver responded with 400: invalid_blocks');
    for (const body of ['<html>', 'root:x:0:0', '{"secret":"x"}', 'a'.repeat(5000), 'Bad Request'])
      expect(answer(400, { body }).failure).toBe('the receiver responded with 400');
  });

  it.each([
    ['30', 30, 33.1],
    ['600', 600, 661],
    ['0', 5, 5.6],
    ['-1', 5, 5.6],
    ['soon', 5, 5.6],
    ['1e9', 86_400, 95_041],
    ['Infinity', 5, 5.6],
  ])('delays the next attempt for Retry-After %j', (asked, min, max) => {
    const { pauseSeconds } = answer(429, { headers: { 'retry-after': asked } });
    expect(pauseSeconds).toBeGreaterThanOrEqual(min);
    expect(pauseSeconds).toBeLessThanOrEqual(max);
  });

  it('with a date delays the next attempt until then', () => {
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    expect(answer(503, { headers: { 'retry-after': date } }).pauseSeconds).toBeGreaterThan(3500);
  });
});
