import { describe, expect, it } from 'vitest';
import { claimsIn } from '../../ui/src/patterns/token-claims.js';

const CLAIMS = { iss: 'https://issuer.example', repository: 'org/app', actor: 'Jörg 🚀' };
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const token = (payload: string) => `${part({ alg: 'RS256' })}.${payload}.c2ln`;

describe('pasted input for a token test', () => {
  it.each([
    ['a JWT', token(part(CLAIMS))],
    ['a header line', `Bearer ${token(part(CLAIMS))}\n`],
    ['claims as JSON', JSON.stringify(CLAIMS, null, 2)],
  ])('is accepted: %s', (_what, text) => {
    expect(claimsIn(text)).toEqual(CLAIMS);
  });

  it.each([
    ['nothing', ''],
    ['an API key', 'slw_5f3c'],
    ['a JWE', `${token(part(CLAIMS))}.a.b`],
    ['a truncated token', token(part(CLAIMS)).slice(0, 60)],
    ['a list', '[1]'],
    ['a payload that is not an object', token(part([1]))],
    ['a payload that is not UTF-8', token(Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url'))],
    ['a truncated object', '{"iss":'],
  ])('is rejected: %s', (_what, text) => {
    expect(claimsIn(text)).toBeUndefined();
  });
});
