import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { expect, it } from 'vitest';
import { faultReply } from './ingest-faults.js';

const failed = (code: string) =>
  new QueryFailedError('SELECT 1', [], Object.assign(new DatabaseError('x', 1, 'error'), { code }));

it('a document is rejected permanently, not with 503, if its graph exceeds the database time limit', () => {
  expect(faultReply(failed('57014')).problem).toMatchObject({ kind: 'refused', code: 'document.too-costly' });
  expect(faultReply(failed('55P03')).problem).toMatchObject({ kind: 'unavailable', code: 'row.busy' });
});

it.each([['secret of the body'], ['Unexpected token\n    at secret of the body']])(
  'an internal error does not disclose quoted text: %j',
  (message) => {
    const { failure } = faultReply(new Error(message));
    expect(failure).not.toContain('secret of the body');
    expect(failure).toContain('ingest-faults.spec');
  },
);
