import type { Answer } from '../load.js';
import type { Evidence, RequestRow } from '../evidence.js';
import type { Check, Finding } from './finding.js';

/** Invariant 1: no accepted request is lost or duplicated, and an Idempotency-Key is bound to the request body. */
export const acceptedOnce: Check = (evidence): Finding => {
  const { answers, unanswered, rows } = evidence;
  const violations = unanswered.map((name) => `${name}: the client never got an answer`);
  violations.push(...wrongRows(evidence));
  const rowById = new Map(evidence.rows.map((row) => [row.id, row]));
  const ids = new Map<string, Set<string>>();
  const others = answers.filter(({ purpose }) => purpose === 'other-body');
  for (const answer of answers) {
    const { intent, purpose, id } = answer;
    const wrong = purpose === 'other-body' ? wrongRefusal(answer) : wrongAnswer(answer, rowById.get(id ?? ''));
    if (wrong !== undefined) violations.push(`${intent.name}: ${purpose} call got ${wrong}`);
    if (purpose !== 'other-body' && id !== undefined) ids.set(intent.name, (ids.get(intent.name) ?? new Set()).add(id));
  }
  for (const [name, known] of ids) if (known.size > 1) violations.push(`${name}: ${known.size} different ids`);
  return {
    id: '1',
    title: 'every accepted id has one row; same key, same id; other body, 422',
    figures: `${answers.length - others.length} answers with ${ids.size} ids, ${rows.length} rows, ${others.length} answers to another body`,
    violations,
  };
};

function wrongRows({ rows, intents, idempotency }: Evidence): string[] {
  return [...Map.groupBy(rows, ({ reference }) => reference)].flatMap(([name, found]) => {
    const resource = idempotency.get(name);
    return [
      ...(intents.has(name) ? [] : [`${name}: a row that no client asked for`]),
      ...(found.length > 1 ? [`${name}: ${found.length} rows`] : []),
      ...(found[0]?.id === resource ? [] : [`${name}: the Idempotency-Key stands for ${resource ?? 'nothing'}`]),
    ];
  });
}

function wrongRefusal({ status, code }: Answer): string | undefined {
  return status === 422 && code === 'idempotency.other-body' ? undefined : `${status} ${code ?? ''}`;
}

function wrongAnswer({ status, code, id, intent }: Answer, row: RequestRow | undefined): string | undefined {
  if (id === undefined) return `${status} ${code ?? ''} without an id`;
  if (row === undefined) return `id ${id}, of which there is no row`;
  if (row.reference !== intent.name) return `id ${id}, which is the request ${row.reference}`;
  const failed = status === 422 && row.status === 'FAILED';
  return status === 200 || status === 202 || failed ? undefined : `${status} ${code ?? ''}`;
}

/** Invariant 2: every request reaches a final state. */
export const everythingEnds: Check = ({ rows, answers, outboxLeft }: Evidence): Finding => {
  const count = (status: string) => rows.filter((row) => row.status === status).length;
  const stuck = rows.filter(({ status }) => status !== 'SIGNED' && status !== 'FAILED');
  const violations = stuck.map(({ id, status }) => `${id} is still ${status}`);
  const failed = rows.filter(({ status }) => status === 'FAILED');
  const codes = [...Map.groupBy(failed, ({ failureCode }) => failureCode ?? 'no reason')];
  if (failed.some(({ failureCode }) => !failureCode)) violations.push('a request FAILED without a reason');
  if (outboxLeft > 0) violations.push(`${outboxLeft} messages are left in the outbox`);
  const final = new Map(rows.map(({ id, status }) => [id, status]));
  for (const { id, state, intent } of answers) {
    if ((state === 'SIGNED' || state === 'FAILED') && final.get(id ?? '') !== state)
      violations.push(`${intent.name}: a client saw ${state}, it ended ${final.get(id ?? '') ?? 'without a row'}`);
  }
  return {
    id: '2',
    title: 'after the drain every request is SIGNED or FAILED',
    figures: [
      `${count('SIGNED')} SIGNED, ${failed.length} FAILED`,
      ...codes.map(([code, of]) => `${code} ${of.length}`),
    ].join(', '),
    violations,
  };
};
