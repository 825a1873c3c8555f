import { describe, expect, it } from 'vitest';
import { listRequestIn } from './list-method.js';

const read = (...lines: string[]) => listRequestIn(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`));

describe('a LIST request', () => {
  it('is converted to a GET with list=true', () => {
    const headers = { host: 'vault', 'x-vault-token': 'a b' };
    expect(read('LIST /v1/transit/keys HTTP/1.1', 'Host: vault', 'X-Vault-Token:  a b ')).toEqual({
      url: '/v1/transit/keys?list=true',
      headers,
    });
    expect(read('LIST /v1/transit/keys?after=x HTTP/1.1', 'Content-Length: 0')?.url).toBe(
      '/v1/transit/keys?after=x&list=true',
    );
  });

  it.each([
    ['another method', ['LOST /v1/x HTTP/1.1']],
    ['another path', ['LIST /api/v1/signing-keys HTTP/1.1']],
    ['a body', ['LIST /v1/x HTTP/1.1', 'Content-Length: 3']],
    ['chunks', ['LIST /v1/x HTTP/1.1', 'Transfer-Encoding: chunked']],
    ['a header that comes twice', ['LIST /v1/x HTTP/1.1', 'X-Vault-Token: a', 'x-vault-token: b']],
    ['a folded header', ['LIST /v1/x HTTP/1.1', 'A: b', ' c']],
    ['a blank before the colon', ['LIST /v1/x HTTP/1.1', 'Content-Length : 3']],
    ['a lone line feed', ['LIST /v1/x HTTP/1.1', 'A: b\nContent-Length: 3']],
    ['another request behind it', ['LIST /v1/x HTTP/1.1', '', 'GET /v1/y HTTP/1.1']],
    ['no version', ['LIST /v1/x']],
  ])('is not accepted with %s', (_, lines) => {
    expect(read(...lines)).toBeUndefined();
  });

  it('is not accepted before it has arrived completely', () => {
    expect(listRequestIn(Buffer.from('LIST /v1/x HTTP/1.1\r\nHost: v'))).toBeUndefined();
  });
});
