import type { ExecutionContext } from '@nestjs/common';
import { type Observable, Subject } from 'rxjs';
import { expect, it } from 'vitest';
import { EventStream } from './event-stream.js';
import { ReadSharesInterceptor } from './read-shares.js';

const SHARE = 2;

class Handlers {
  list(): void {}

  @EventStream('key', '')
  follow(): void {}
}

/** Returns a call that records when its handler runs. The test sends the response. */
function call(
  interceptor: ReadSharesInterceptor,
  principal: string | undefined,
  { of = Handlers.prototype.list, ...change }: { of?: () => void; [name: string]: unknown } = {},
) {
  const request = { method: 'GET', url: '/v1/keys', query: {}, principal, ...change };
  const context = {
    getHandler: () => of,
    switchToHttp: () => ({ getRequest: () => request }),
  } as unknown as ExecutionContext;
  const answer = new Subject<string>();
  const seen = { isRunning: false, error: undefined as unknown, end: () => answer.complete() };
  const handler = {
    handle: () => {
      seen.isRunning = true;
      return answer;
    },
  };
  const result: Observable<unknown> = interceptor.intercept(context, handler);
  result.subscribe({ error: (error: unknown) => (seen.error = error) });
  return seen;
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('a caller runs only its share of reads at the same time; the rest follow in order, and others are not affected', async () => {
  const interceptor = new ReadSharesInterceptor(SHARE);
  const own = Array.from({ length: 4 }, () => call(interceptor, 'build'));
  const other = call(interceptor, 'release');
  await settled();
  expect(own.map(({ isRunning }) => isRunning)).toEqual([true, true, false, false]);
  expect(other.isRunning).toBe(true);
  own[1]?.end();
  await settled();
  expect(own.map(({ isRunning }) => isRunning)).toEqual([true, true, true, false]);
  for (const one of own) one.end();
  await settled();
  own[3]?.end();
  await settled();
  const later = call(interceptor, 'build', { method: 'HEAD' });
  await settled();
  expect([own[3]?.isRunning, later.isRunning]).toEqual([true, true]);
});

it('changes, streams, calls that wait for a change and public reads need no share', async () => {
  const interceptor = new ReadSharesInterceptor(SHARE);
  for (let i = 0; i < SHARE; i += 1) call(interceptor, 'build');
  const free = [
    call(interceptor, 'build', { method: 'POST' }),
    call(interceptor, 'build', { query: { wait: '30' } }),
    call(interceptor, 'build', { of: Handlers.prototype.follow }),
    call(interceptor, undefined),
  ];
  await settled();
  expect(free.map(({ isRunning }) => isRunning)).toEqual([true, true, true, true]);
});

it.each(['/api/v1/events?after=latest', '/api/v1/sign/requests?reference=/x/events', '/api/assets?location=/a/events'])(
  'a list needs a share, even if its URL looks like the URL of an event stream: %s',
  async (url) => {
    const interceptor = new ReadSharesInterceptor(SHARE);
    for (let i = 0; i < SHARE; i += 1) call(interceptor, 'build');
    const list = call(interceptor, 'build', { url });
    await settled();
    expect(list.isRunning).toBe(false);
  },
);

it('a caller has at most 1000 reads that wait for their turn', async () => {
  const interceptor = new ReadSharesInterceptor(SHARE);
  for (let i = 0; i < SHARE + 1000; i += 1) call(interceptor, 'build');
  const last = call(interceptor, 'build');
  await settled();
  expect(last.error).toMatchObject({ code: 'read.too-many' });
  expect(call(interceptor, 'release').error).toBeUndefined();
});
