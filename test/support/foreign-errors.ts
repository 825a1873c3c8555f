import { expect } from 'vitest';
import { assertProblem, type Refusal } from './refused-calls.js';
import type { Answer } from './service.js';

/** Paths whose refusals use the format of Vault or SignServer. */
const VAULT = /^\/v1\/(?:transit|sys|auth)\//;
const SIGN_SERVER = /^\/rest\/v1\/workers\//;

export function isForeign(path: string): boolean {
  return VAULT.test(path) || SIGN_SERVER.test(path);
}

/** Asserts a refusal in the format of this path. Vault does not use 401, and neither foreign format has a code. */
export function assertRefused(path: string, answer: Answer, refusal: Refusal): void {
  if (!isForeign(path)) return assertProblem(answer, refusal);
  const isVault = VAULT.test(path);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(answer.status).toBe(isVault && refusal.status === 401 ? 403 : refusal.status);
  const words = expect.stringMatching(/\w/);
  expect(answer.body).toEqual(isVault ? { errors: ['permission denied', words] } : { error: words });
}
