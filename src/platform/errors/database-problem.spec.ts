import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { describe, expect, it } from 'vitest';
import { databaseProblem } from './database-problem.js';

const says = (code: string) =>
  new QueryFailedError('SELECT 1', [], Object.assign(new DatabaseError('in its words', 0, 'error'), { code }));

describe('the problem returned for a database error', () => {
  it('asks for a smaller request after a statement timeout, without Retry-After', () => {
    const problem = databaseProblem(says('57014'));
    expect(problem).toMatchObject({ code: 'query.too-slow', kind: 'unavailable' });
    expect(problem?.retryAfter).toBeUndefined();
    expect(problem?.message).toMatch(/nothing was changed/i);
  });

  it.each([
    ['55P03', 'row.busy', 2],
    ['25006', 'database.read-only', 30],
    ['53100', 'database.full', 30],
    ['53300', 'database.unavailable', 30],
    ['28P01', 'database.unavailable', 30],
    ['3D000', 'database.unavailable', 30],
    ['42501', 'database.unavailable', 30],
  ])('for %s is %s', (state, code, retryAfter) => {
    const problem = databaseProblem(says(state));
    expect(problem).toMatchObject({ code, retryAfter, kind: 'unavailable' });
    expect(problem?.message).toMatch(/nothing was changed/i);
  });

  it('states that the outcome is unknown if the connection was lost', () => {
    const lost = databaseProblem(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    expect(lost).toMatchObject({ code: 'database.unavailable', retryAfter: 2 });
    expect(lost?.message).toContain('is unknown whether');
    expect(databaseProblem(says('57P01'))?.message).toContain('is unknown whether');
  });

  it.each([says('23505'), says('42601'), says('42703'), new TypeError('x is not a function')])(
    'is undefined for an internal fault: $message',
    (error) => {
      expect(databaseProblem(error)).toBeUndefined();
    },
  );
});
