import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { processOrder } from './sign-server-order.js';

const hashOf = (data: string) => createHash('sha256').update(data).digest();

describe('the data of a SignServer client', () => {
  it.each(['NONE', 'none', '', null, undefined])('is text where its encoding is %j', (encoding) => {
    expect(processOrder({ data: 'aGk=', encoding }).digest).toEqual(hashOf('aGk='));
  });

  it.each(['BASE64', 'base64'])('is decoded where its encoding is %j', (encoding) => {
    expect(processOrder({ data: 'aGk=', encoding }).digest).toEqual(hashOf('hi'));
  });

  it('asks for the certificate where it is empty', () => {
    expect(processOrder({ data: '' }).isOfNothing).toBe(true);
    expect(processOrder({ data: '', encoding: 'NONE' }).isOfNothing).toBe(true);
  });

  it.each(['HEX', 'base64url'])('is refused in the encoding %j, which SignServer has not', (encoding) => {
    expect(() => processOrder({ data: 'aGk=', encoding })).toThrow('must be BASE64, or NONE for text');
  });
});
