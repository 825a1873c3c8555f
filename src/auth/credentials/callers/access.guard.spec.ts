import { describe, expect, it } from 'vitest';
import type { CallerSession } from '../../../access/caller.js';
import { isFresh } from './access.guard.js';

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
const session = (of: Partial<CallerSession>): CallerSession => ({
  id: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11',
  authenticatedAt: minutesAgo(1),
  steppedUpAt: null,
  methods: ['pwd'],
  clientId: null,
  inBrowser: false,
  boundTo: {},
  ...of,
});
const CLIENT = { clientId: 'terminal' };

describe('session freshness', () => {
  it('lasts five minutes after sign-in', () => {
    expect(isFresh({ kind: 'user', session: session({}) })).toBe(true);
    expect(isFresh({ kind: 'user', session: session({ authenticatedAt: minutesAgo(6) }) })).toBe(false);
  });

  it('requires a step-up within the session if a client holds it', () => {
    expect(isFresh({ kind: 'user', session: session(CLIENT) })).toBe(false);
    expect(isFresh({ kind: 'user', session: session({ ...CLIENT, steppedUpAt: minutesAgo(1) }) })).toBe(true);
    expect(isFresh({ kind: 'user', session: session({ ...CLIENT, steppedUpAt: minutesAgo(6) }) })).toBe(false);
  });
});
