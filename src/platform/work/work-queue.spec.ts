import { describe, expect, it } from 'vitest';
import { type ClaimedRow, dueRowsOf, WorkQueue } from './work-queue.js';

const MAILS = {
  table: 'mail',
  attempt: 'attempts',
  dueAt: 'next_try_at',
  open: 'sent_at IS NULL',
  columns: 't.subject',
  leaseSeconds: 30,
  firstPauseSeconds: 5,
  longestPauseSeconds: 60,
};
const ROW = { id: 'a', attempt: 3 };

/** Creates a queue whose connection returns `answer` for every query and records the queries. */
function queueOn(answer: unknown, queue = MAILS) {
  const asked: { text: string; values: unknown[] }[] = [];
  const query = async (text: string, values: unknown[]) => {
    asked.push({ text: text.replaceAll(/\s+/g, ' '), values });
    return answer;
  };
  return { asked, mails: new WorkQueue<ClaimedRow>({ query } as never, queue) };
}

describe('a work queue', () => {
  it('treats open rows whose time has come as due, ordered by that time', () => {
    expect(dueRowsOf(MAILS)).toEqual({
      table: 'mail',
      where: 'sent_at IS NULL AND next_try_at <= now()',
      order: 'next_try_at',
    });
  });

  it('claims due rows with a lease and the next attempt number', async () => {
    const { asked, mails } = queueOn([[ROW], 1]);
    expect(await mails.claim(2, 'kind = $1', ['x'])).toEqual([ROW]);
    expect(asked[0]?.text).toContain(
      'WHERE sent_at IS NULL AND next_try_at <= now() AND kind = $1 ORDER BY next_try_at LIMIT 2',
    );
    expect(asked[0]?.text).toContain(
      `SET attempts = t.attempts + 1, next_try_at = now() + interval '30 seconds' FROM due WHERE t.id = due.id RETURNING t.id AS id, t.attempts AS attempt, t.subject`,
    );
    expect(asked[0]?.values).toEqual(['x']);
  });

  it('changes an open row only while its claim is the latest', async () => {
    const { asked, mails } = queueOn([[], 1]);
    expect(await mails.write(ROW, 'sent_at = $3', ['now'])).toBe(true);
    expect(asked[0]).toEqual({
      text: 'UPDATE mail t SET sent_at = $3 WHERE t.id = $1 AND t.attempts = $2 AND sent_at IS NULL AND true',
      values: ['a', 3, 'now'],
    });
  });

  it('reports a row that belongs to another claim', async () => {
    const { mails } = queueOn([[], 0]);
    expect(await mails.renew(ROW)).toBe(false);
  });

  it('retries after a backoff that doubles with each attempt', async () => {
    const { asked, mails } = queueOn([[], 1]);
    await mails.retry(ROW, 'failure = $3', ['refused']);
    expect(asked[0]?.text).toContain('SET next_try_at = now() + make_interval(secs => $4), failure = $3 WHERE');
    expect(asked[0]?.values).toEqual(['a', 3, 'refused', 20]);
  });
});
