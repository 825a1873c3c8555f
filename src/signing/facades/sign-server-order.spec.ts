import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Problem } from '../../platform/errors/problem.js';
import { processOrder } from './sign-server-order.js';
import { signServerErrors } from './vault-errors.js';

const hashOf = (data: string) => createHash('sha256').update(data).digest();

describe('data from a SignServer client', () => {
  it.each(['NONE', 'none', '', null, undefined])('is treated as text with the encoding %j', (encoding) => {
    expect(processOrder({ data: 'aGk=', encoding }).digest).toEqual(hashOf('aGk='));
  });

  it.each(['BASE64', 'base64'])('is decoded with the encoding %j', (encoding) => {
    expect(processOrder({ data: 'aGk=', encoding }).digest).toEqual(hashOf('hi'));
  });

  it.each([
    ['in the metadata, as jsign has it', { metaData: { FILENAME: 'a.exe' } }],
    ['beside it, as SignClient has it', { filename: 'a.exe', metaData: { OTHER: 'x' } }],
    ['in the metadata first', { filename: 'noname.dat', metaData: { FILENAME: 'a.exe' } }],
  ])('has the file name given %s', (_, names) => {
    expect(processOrder({ data: 'aGk=', encoding: 'BASE64', ...names }).fileName).toBe('a.exe');
  });

  it('requests the certificate if it is empty', () => {
    expect(processOrder({ data: '' }).isOfNothing).toBe(true);
    expect(processOrder({ data: '', encoding: 'NONE' }).isOfNothing).toBe(true);
  });

  it.each(['HEX', 'base64url'])('is rejected with the encoding %j, which SignServer does not support', (encoding) => {
    expect(() => processOrder({ data: 'aGk=', encoding })).toThrow('must be BASE64 or NONE (text)');
  });
});

it('a refusal is repeated in the header, without characters that a header cannot contain', () => {
  const problem = new Problem(
    'forbidden',
    'key-policy.file-name',
    'the key signs files named Größe–*.exe alone\n\u{1f512}',
  );
  const answer = signServerErrors({ status: 403, problem }, {} as FastifyRequest);
  expect(answer).toEqual({
    status: 403,
    body: { error: problem.message },
    headers: { 'x-signserver-error-message': 'the key signs files named Gr??e?*.exe alone??' },
  });
});
