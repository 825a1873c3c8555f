import type { EntityManager } from 'typeorm';
import { columns } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import { ALERT_CONDITION_RULES } from '../model/alert-condition.js';
import type { Hit } from './rule-match.js';
import { truncate } from '../../platform/text/truncate.js';

/** Delay of the first notification, so that a burst of events results in one notification. */
const GATHER_SECONDS = 5;

/**
 * Opens alerts, increments the counts of open alerts, and reopens alerts that were resolved before the event. Each call must contain at most one hit per
 * rule and key. A lasting condition, such as a silent sensor, counts once. If a user resolves the alert while the condition lasts, the alert stays resolved.
 */
export async function raise(tx: EntityManager, hits: readonly Hit[]): Promise<void> {
  if (hits.length === 0) return;
  const { from, values } = columns(hits.map(rowOf), {
    id: 'uuid',
    rule: 'uuid',
    key: 'text',
    severity: 'text',
    title: 'text',
    subject_kind: 'text',
    subject_id: 'text',
    subject_name: 'text',
    facts: 'jsonb',
    count: 'int',
    first_at: 'timestamptz',
    last_at: 'timestamptz',
    cool_down: 'int',
    once: 'boolean',
  });
  await tx.query(
    `WITH hit AS MATERIALIZED (SELECT * FROM ${from}), again AS (
       UPDATE alert a SET
         count = a.count + h.count, facts = h.facts::jsonb, title = h.title, severity = h.severity,
         subject_kind = h.subject_kind, subject_id = h.subject_id, subject_name = h.subject_name,
         last_at = greatest(a.last_at, h.last_at),
         status = CASE WHEN a.status = 'RESOLVED' AND h.last_at > a.resolved_at THEN 'REOPENED' ELSE a.status END,
         notify_at = coalesce(a.notify_at, greatest(now() + make_interval(secs => ${GATHER_SECONDS}),
           a.notified_at + make_interval(mins => h.cool_down)))
       FROM hit h WHERE a.rule_id = h.rule AND a.key = h.key
         AND (NOT h.once OR (a.status = 'RESOLVED' AND a.resolved_by IS NULL AND h.last_at > a.resolved_at)))
     INSERT INTO alert (id, rule_id, key, severity, title, subject_kind, subject_id, subject_name, facts, count, first_at, last_at, notify_at)
     SELECT id, rule, key, severity, title, subject_kind, subject_id, subject_name, facts::jsonb, count, first_at, last_at,
       now() + make_interval(secs => ${GATHER_SECONDS}) FROM hit
     WHERE NOT EXISTS (SELECT FROM alert a WHERE a.rule_id = hit.rule AND a.key = hit.key)
     ON CONFLICT DO NOTHING`,
    values,
  );
}

/** Resolves alerts whose condition has ended. Users who were notified of an alert are also notified of its resolution. */
export async function end(tx: EntityManager, ended: readonly { rule: string; key: string; at: Date }[]): Promise<void> {
  if (ended.length === 0) return;
  const { from, values } = columns(ended, { rule: 'uuid', key: 'text', at: 'timestamptz' });
  await tx.query(
    `UPDATE alert a SET status = 'RESOLVED', resolved_at = greatest(item.at, a.last_at), resolved_by = NULL,
       notify_at = CASE WHEN a.notified_at IS NULL THEN NULL ELSE now() END
     FROM ${from} WHERE a.rule_id = item.rule AND a.key = item.key AND a.status <> 'RESOLVED'`,
    values,
  );
}

function rowOf({ rule, key, title, subject, facts, count, firstAt, lastAt }: Hit) {
  return {
    id: newId(),
    rule: rule.id,
    key,
    severity: rule.severity,
    title: truncate(title, 300),
    subject_kind: subject.kind,
    subject_id: subject.id,
    subject_name: subject.name,
    facts,
    count,
    first_at: firstAt,
    last_at: lastAt,
    cool_down: rule.coolDownMinutes,
    once: ALERT_CONDITION_RULES[rule.condition].counts === 'once',
  };
}
