import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { backOff, type Claim, claimDue, dueRows, lockDue, underLease, whenDue } from './claim.js';

const MAILS: Claim = {
  table: 'mail',
  where: 'sent_at IS NULL AND due_at <= now()',
  order: 'due_at',
  limit: 10,
  set: 'attempts = attempts + 1',
  returning: 't.id, t.attempts',
};

/** Returns a connection that returns `answer` for every query and records the queries. */
function answering(answer: unknown) {
  const asked: unknown[][] = [];
  return { asked, query: async (...query: unknown[]) => (asked.push(query), answer) };
}

describe('due rows', () => {
  it('are selected by condition, in order, and locked with SKIP LOCKED', () => {
    expect(dueRows(MAILS)).toBe(
      'SELECT t.id FROM mail t WHERE sent_at IS NULL AND due_at <= now() ORDER BY due_at LIMIT 10 FOR UPDATE OF t SKIP LOCKED',
    );
  });

  it('lock only the claimed table of a join, unless the claim names others', () => {
    const run = {
      table: 'run',
      join: 'JOIN schedule s ON s.id = t.schedule_id',
      columns: 't.id, s.name',
      where: `t.status = 'DUE'`,
      order: 't.id',
      limit: 1,
    };
    const select = `SELECT t.id, s.name FROM run t JOIN schedule s ON s.id = t.schedule_id WHERE t.status = 'DUE' ORDER BY t.id LIMIT 1`;
    expect(dueRows(run)).toBe(`${select} FOR UPDATE OF t SKIP LOCKED`);
    expect(dueRows({ ...run, locks: 't, s' })).toBe(`${select} FOR UPDATE OF t, s SKIP LOCKED`);
  });

  it('are limited to a whole number of rows', () => {
    expect(dueRows({ ...MAILS, limit: 2.9 })).toContain('LIMIT 2 ');
  });

  it('are returned unchanged if they are only locked', async () => {
    const tx = answering([{ id: 'a' }]);
    expect(await lockDue(tx as never, MAILS, ['x'])).toEqual([{ id: 'a' }]);
    expect(tx.asked).toEqual([[dueRows(MAILS), ['x']]]);
  });
});

describe('a poll for due rows', () => {
  it.each([
    ['begins a transaction when there are any', [{}], 'done'],
    ['begins none when there are none', [], undefined],
  ])('%s', async (_, found, answer) => {
    const transaction = vi.fn((work: (tx: unknown) => unknown) => work('tx'));
    const db = { ...answering(found), transaction };
    expect(await whenDue(db as never, MAILS, () => Promise.resolve('done'), ['x'])).toBe(answer);
    expect(db.asked).toEqual([[`SELECT 1 FROM mail t WHERE ${MAILS.where} ORDER BY due_at LIMIT 1`, ['x']]]);
    expect(transaction).toHaveBeenCalledTimes(found.length);
  });
});

describe('a claim', () => {
  it('selects once before it updates, and returns the rows of the update', async () => {
    const db = answering([[{ id: 'a', attempts: 1 }], 1]);
    expect(await claimDue(db as never, MAILS)).toEqual([{ id: 'a', attempts: 1 }]);
    const statement = `WITH due AS MATERIALIZED (${dueRows(MAILS)}) UPDATE mail t SET attempts = attempts + 1 FROM due WHERE t.id = due.id RETURNING t.id, t.attempts`;
    expect(db.asked).toEqual([[statement, []]]);
  });
});

describe('the backoff after failures', () => {
  it('doubles from the minimum to the maximum', () => {
    expect([1, 2, 3, 4, 5, 2000].map((attempts) => backOff(attempts, 5, 30))).toEqual([5, 10, 20, 30, 30, 30]);
  });
});

describe('work under a lease', () => {
  it('renews its lease until it ends, even if a renewal fails', async () => {
    let renewals = 0;
    const renew = async () => {
      renewals += 1;
      throw new Error('the database is away');
    };
    const work = async () => {
      await vi.waitFor(() => expect(renewals).toBeGreaterThan(2));
      return 'done';
    };
    expect(await underLease(1, renew, work)).toBe('done');
    const atEnd = renewals;
    await sleep(10);
    expect(renewals).toBe(atEnd);
  });

  it('propagates its failure', async () => {
    const broken = underLease(
      1000,
      () => Promise.resolve(),
      () => Promise.reject(new Error('broken')),
    );
    await expect(broken).rejects.toThrow('broken');
  });
});
