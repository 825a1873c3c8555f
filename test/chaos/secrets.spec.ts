import { describe, expect, it } from 'vitest';
import { SecretSearch } from '../../chaos/signing/secrets.js';

const SECRET = 'jwt+canary/with specials=1';

function found(text: string): number {
  const search = new SecretSearch();
  search.add('JWT secret', SECRET);
  search.search('logs', 'a line', text);
  return search.leaks.size;
}

describe('the secret scanner', () => {
  const bytes = Buffer.from(SECRET);
  it.each([
    ['plain', `before ${SECRET} after`],
    ['hexadecimal', bytes.toString('hex')],
    ['upper-case hexadecimal', bytes.toString('hex').toUpperCase()],
    ['URL-encoded', encodeURIComponent(SECRET)],
    ...[0, 1, 2].map((at): [string, string] => [
      `base64 with ${at} bytes before it`,
      Buffer.concat([Buffer.from('xyz').subarray(0, at), bytes, Buffer.from('tail')]).toString('base64'),
    ]),
    ...[0, 1, 2].map((at): [string, string] => [
      `base64url with ${at} bytes before it`,
      Buffer.concat([Buffer.from('xyz').subarray(0, at), bytes, Buffer.from('tail')]).toString('base64url'),
    ]),
  ])('finds a secret %s', (_name, text) => {
    expect(found(text)).toBeGreaterThan(0);
  });

  it('finds nothing if there is no secret', () => {
    expect(found(`${SECRET.slice(1)} ${Buffer.from(SECRET.slice(2)).toString('base64')}`)).toBe(0);
  });
});
