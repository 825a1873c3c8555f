import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AlertEventRow } from '../../platform/events/alert-events.js';
import { ALERT_CONDITION_RULES } from '../model/alert-condition.js';
import { AlertRule } from '../model/alert-rule.entity.js';
import { end, raise } from './alert-writer.js';
import { countFor, type Hit, hitOf, mergedHit } from './rule-match.js';
import { Background } from '../../platform/work/background.js';

const BATCH_SIZE = 1000;
const WAITING = { table: 'happening', where: 'true', order: 'id' };
/** Key of the transaction-level advisory lock. Only one process at a time processes events, to keep their order. */
const LOCK = 0x616c_7274;

/** Converts alert events to alerts, in the transaction that deletes the events. */
@Injectable()
export class AlertIntake {
  constructor(private readonly db: DataSource) {}

  /** Processes a batch of events. @returns false if there were no events, or if another process holds the lock */
  @Background({ name: 'alert-events', scope: 'process', due: WAITING, wakes: ['alert-notifications'] })
  async take(): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const [lock]: { mine: boolean }[] = await tx.query(`SELECT pg_try_advisory_xact_lock($1) AS mine`, [LOCK]);
      if (lock?.mine !== true) return false;
      const events = await tx.find(AlertEventRow, { order: { id: 'ASC' }, take: BATCH_SIZE });
      if (events.length === 0) return false;
      const enabled = await tx.findBy(AlertRule, [{ enabled: true }, { active: true }]);
      // A rule written by a later version may have a condition that this version does not support.
      const rules = enabled.filter(({ condition }) => condition in ALERT_CONDITION_RULES);
      await settle(tx, rules, events);
      await tx.query(`DELETE FROM happening WHERE id = ANY($1::uuid[])`, [events.map(({ id }) => id)]);
      return true;
    });
  }
}

/** Raises alerts for consecutive events in one statement. An event that ends a condition is applied after all earlier events. */
async function settle(tx: EntityManager, rules: readonly AlertRule[], events: readonly AlertEventRow[]): Promise<void> {
  let hits = new Map<string, Hit>();
  for (const event of events) {
    const matching = rules.map((rule) => ({ rule, count: countFor(rule, event) })).filter(({ count }) => count > 0);
    const found = matching.map(({ rule, count }) => hitOf(rule, event, count));
    if (event.over) {
      await raise(tx, [...hits.values()]);
      hits = new Map();
      await end(tx, found.map(({ rule, key, lastAt }) => ({ rule: rule.id, key, at: lastAt }))); // prettier-ignore
    } else {
      for (const hit of found) {
        const place = `${hit.rule.id} ${hit.key}`;
        const earlier = hits.get(place);
        hits.set(place, earlier === undefined ? hit : mergedHit(earlier, hit));
      }
    }
  }
  await raise(tx, [...hits.values()]);
}
