import { DatabaseError } from 'pg';
import { QueryFailedError, QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { causeOf, isDatabaseTrouble, operatorsWords, isWorthAnotherTry, sqlState } from './database-error.js';

function serverSays(code: string): DatabaseError {
  return Object.assign(new DatabaseError('as the server puts it', 0, 'error'), { code });
}

describe('a database error', () => {
  it('is recognized from a query and from opening a connection', () => {
    expect(sqlState(new QueryFailedError('SELECT 1', [], serverSays('57P01')))).toBe('57P01');
    expect(sqlState(serverSays('57P03'))).toBe('57P03');
    expect(sqlState(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))).toBeUndefined();
  });

  it.each([
    serverSays('57P03'),
    new QueryFailedError('SELECT 1', [], serverSays('57P01')),
    Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }),
    // Errors on a machine that was cut off from its network.
    Object.assign(new Error('connect EINVAL 10.0.0.1:5000'), { code: 'EINVAL', syscall: 'connect' }),
    Object.assign(new Error('connect EADDRNOTAVAIL'), { code: 'EADDRNOTAVAIL', syscall: 'connect' }),
    Object.assign(new Error('getaddrinfo EAI_AGAIN db'), { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }),
    Object.assign(new Error('read ENETUNREACH'), { code: 'ENETUNREACH', syscall: 'read' }),
    new QueryRunnerAlreadyReleasedError(),
    new QueryRunnerProviderAlreadyReleasedError(),
  ])('is an availability problem: $message', (error) => {
    expect(isDatabaseTrouble(error)).toBe(true);
  });

  it.each([
    serverSays('23505'),
    serverSays('42601'),
    new TypeError('x is not a function'),
    Object.assign(new Error('open ENOENT'), { code: 'ENOENT', syscall: 'open' }),
  ])('is not an availability problem: $message', (error) => {
    expect(isDatabaseTrouble(error)).toBe(false);
  });

  it('is retryable after a deadlock', () => {
    expect(isWorthAnotherTry(new QueryFailedError('UPDATE', [], serverSays('40P01')))).toBe(true);
    expect(isWorthAnotherTry(serverSays('57P01'))).toBe(false);
  });

  it.each([
    ['25006', 'read-only ('],
    ['53100', 'the disk is full'],
    ['28P01', 'the user or the password was rejected'],
    ['42P01', 'run "sealwright-admin migrate"'],
  ])('%s is explained to the operator, with the message of the server', (state, meaning) => {
    expect(operatorsWords(serverSays(state))).toContain(meaning);
    expect(operatorsWords(serverSays(state))).toContain('as the server puts it');
  });

  it.each([
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
  ])('%s refers to the setting for the CA file', (code) => {
    const error = Object.assign(new Error('as Node.js puts it'), { code });
    expect(operatorsWords(error)).toMatch(
      /^the TLS certificate of the server was rejected; set SVC_DATABASE_CA_FILE .*as Node.js puts it$/,
    );
  });

  it('is logged with its message where documents are read, and other errors only with their name', () => {
    expect(causeOf(serverSays('53100'))).toContain('the disk is full');
    expect(causeOf(new SyntaxError('a secret of the document'))).toBe('SyntaxError');
    expect(causeOf('a secret')).toBe('unknown');
  });
});
