import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { uuidOf } from '../../platform/database/new-id.js';
import { Background } from '../../platform/work/background.js';
import { DEFAULT_DAYS } from '../model/alert-condition.js';
import { raise } from './alert-writer.js';
import type { Hit } from './rule-match.js';
import { AlertRule } from '../model/alert-rule.entity.js';

const EVERY_MS = 60_000;
/** Maximum number of certificates per rule and run. */
const BATCH_SIZE = 500;
/**
 * Maximum number of certificates per reporter that get their own alert. The rest share one alert, so that a document cannot open an unlimited number
 * of alerts.
 */
const MAX_PER_REPORTER = 200;
const DAY_MS = 24 * 3600 * 1000;

interface ExpiringCertificate {
  readonly id: string;
  readonly name: string;
  readonly notAfter: Date;
  readonly where: string | null;
}

/**
 * SQL that selects active certificates that expire within $1 days, numbered per reporter. A certificate whose expiry another reporter moved to an earlier date
 * is included until one day after the expiry.
 */
const ENDING = `
  ending AS MATERIALIZED (
    SELECT a.id, a.name, a.not_after FROM asset a WHERE a.kind = 'certificate' AND a.state = 'active'
      AND a.not_after > now() - interval '1 day' AND a.not_after <= now() + make_interval(days => $1)
      AND (a.not_after > now() OR a.not_after < a.floor_not_after)),
  turn AS MATERIALIZED (
    SELECT id, min(turn) AS turn FROM (
      SELECT e.id, row_number() OVER (PARTITION BY r.owner ORDER BY e.not_after, e.id) AS turn
      FROM ending e CROSS JOIN LATERAL (
        SELECT DISTINCT i.owner FROM asset_occurrence o JOIN inventory_source i ON i.id = o.source_id WHERE o.asset_id = e.id AND o.missed = 0) r) t
    GROUP BY id)`;

/** Finds certificates in the inventory that expire soon, using the index on the expiry date. */
@Injectable()
export class InventoryCertificateWatcher {
  constructor(private readonly db: DataSource) {}

  @Background({ name: 'expiring-certificates', scope: 'process', every: EVERY_MS, first: 0 })
  async check(): Promise<void> {
    const rules = await this.db.manager.findBy(AlertRule, { condition: 'certificate-expiring', enabled: true });
    for (const rule of rules) await this.checkRule(rule);
  }

  private async checkRule(rule: AlertRule): Promise<void> {
    const days = rule.parameters.days ?? DEFAULT_DAYS;
    await this.db.transaction(async (tx) => {
      const ending: (ExpiringCertificate & { readonly isSingle: boolean })[] = await tx.query(
        `WITH ${ENDING}
         SELECT e.id, e.name, e.not_after AS "notAfter", t.turn <= ${MAX_PER_REPORTER} AS "isSingle",
           (SELECT string_agg(o.location, ', ') FROM (
              SELECT location FROM asset_occurrence WHERE asset_id = e.id AND missed = 0 AND location <> '' LIMIT 3) o) AS "where"
         FROM ending e JOIN turn t ON t.id = e.id
         WHERE NOT EXISTS (SELECT FROM alert x WHERE x.rule_id = $2 AND x.key = 'asset:' || e.id AND x.status <> 'RESOLVED')
         ORDER BY t.turn, e.not_after LIMIT ${BATCH_SIZE}`,
        [days, rule.id],
      );
      const isGrouped = rule.grouping === 'rule';
      const single = ending.filter(({ isSingle }) => isSingle && !isGrouped);
      const others = ending.filter((one) => !single.includes(one)).toSorted(byEnd);
      await raise(tx, [...single.map((one) => hitOf(rule, one)), ...groupedHits(rule, others)]);
      await tx.query(
        `UPDATE alert x SET status = 'RESOLVED', resolved_at = now(), resolved_by = NULL,
           notify_at = CASE WHEN x.notified_at IS NULL THEN NULL ELSE now() END
         FROM asset a WHERE x.rule_id = $2 AND x.status <> 'RESOLVED' AND x.subject_kind = 'asset' AND a.id = ${uuidOf('x.subject_id')}
           AND (a.state <> 'active' OR a.not_after > now() + make_interval(days => $1))`,
        [days, rule.id],
      );
    });
  }
}

function hitOf(rule: AlertRule, { id, name, notAfter, where }: ExpiringCertificate): Hit {
  const now = new Date();
  const left = Math.max(0, Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS));
  return {
    rule,
    key: `asset:${id}`,
    title: `A certificate expires soon: ${name}`,
    subject: { kind: 'asset', id, name },
    facts: {
      ...(where === null ? {} : { where }),
      why: `The certificate expires at ${notAfter.toISOString()}, in ${left} ${left === 1 ? 'day' : 'days'}.`,
    },
    count: 1,
    firstAt: now,
    lastAt: now,
  };
}

function byEnd(a: ExpiringCertificate, b: ExpiringCertificate): number {
  return a.notAfter.getTime() - b.notAfter.getTime();
}

/** Returns one hit for all certificates, with the facts of the certificate that expires first. */
function groupedHits(rule: AlertRule, ending: readonly ExpiringCertificate[]): Hit[] {
  const [first] = ending;
  if (first === undefined) return [];
  return [{ ...hitOf(rule, first), key: '*', title: 'Certificates expire soon', count: ending.length }];
}
