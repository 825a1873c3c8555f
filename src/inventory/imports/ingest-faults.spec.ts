import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { expect, it } from 'vitest';
import { faultReply } from './ingest-faults.js';

const failed = (code: string) =>
  new QueryFailedError('SELECT 1', [], Object.assign(new DatabaseError('x', 1, 'error'), { code }));

it('a document whose graph keeps the database busy to the limit is refused for good, and not answered 503 again and again', () => {
  expect(faultReply(failed('57014')).problem).toMatchObject({ kind: 'refused', code: 'document.too-costly' });
  expect(faultReply(failed('55P03')).problem).toMatchObject({ kind: 'unavailable', code: 'row.busy' });
});

it.each([['secret of the body'], ['Unexpected token\n    at secret of the body']])(
  'an error of the service keeps what it quotes to itself: %j',
  (message) => {
    const { failure } = faultReply(new Error(message));
    expect(failure).not.toContain('secret of the body');
    expect(failure).toContain('ingest-faults.spec');
  },
);
