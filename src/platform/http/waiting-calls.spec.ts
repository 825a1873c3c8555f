import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { NEVER, type Observable } from 'rxjs';
import { expect, it } from 'vitest';
import { WaitingCallsInterceptor } from './waiting-calls.js';

function call(interceptor: WaitingCallsInterceptor, principal: string, query: object = { wait: '30' }) {
  const request = { method: 'GET', query, principal };
  const context = { switchToHttp: () => ({ getRequest: () => request }) } as unknown as ExecutionContext;
  const handler: CallHandler = { handle: () => NEVER };
  const answer: Observable<unknown> = interceptor.intercept(context, handler);
  return answer.subscribe();
}

it('a caller has at most 100 calls that wait, and others are not affected', () => {
  const interceptor = new WaitingCallsInterceptor();
  const waiting = Array.from({ length: 100 }, () => call(interceptor, 'build'));
  expect(() => call(interceptor, 'build')).toThrow(expect.objectContaining({ code: 'wait.too-many' }));
  call(interceptor, 'build', {});
  call(interceptor, 'build', { wait: '0' });
  call(interceptor, 'release');
  waiting[0]?.unsubscribe();
  call(interceptor, 'build');
  expect(() => call(interceptor, 'build')).toThrow(expect.objectContaining({ code: 'wait.too-many' }));
});
