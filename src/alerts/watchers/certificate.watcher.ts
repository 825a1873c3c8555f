import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { uuidOf } from '../../platform/database/new-id.js';
import { Background } from '../../platform/work/background.js';
import { DEFAULT_DAYS } from '../model/alert-condition.js';
import { raise } from '../intake/alert-writer.js';
import type { Hit } from '../intake/rule-match.js';
import { AlertRule } from '../model/alert-rule.entity.js';

const EVERY_MS = 60_000;
/** Certificates per rule and run; the others follow as these are renewed. */
const BATCH_SIZE = 500;
const DAY_MS = 24 * 3600 * 1000;

interface ExpiringCertificate {
  readonly id: string;
  readonly name: string;
  readonly notAfter: Date;
  readonly where: string | null;
}

/** Finds certificates of the inventory that expire soon, by the index on that date. */
@Injectable()
export class CertificateWatcher {
  constructor(private readonly db: DataSource) {}

  @Background({ name: 'expiring-certificates', scope: 'process', every: EVERY_MS, first: 0 })
  async check(): Promise<void> {
    const rules = await this.db.manager.findBy(AlertRule, { condition: 'certificate-expiring', enabled: true });
    for (const rule of rules) await this.checkRule(rule);
  }

  private async checkRule(rule: AlertRule): Promise<void> {
    const days = rule.parameters.days ?? DEFAULT_DAYS;
    await this.db.transaction(async (tx) => {
      const ending: ExpiringCertificate[] = await tx.query(
        `SELECT a.id, a.name, a.not_after AS "notAfter",
           (SELECT string_agg(o.location, ', ') FROM (
              SELECT location FROM asset_occurrence WHERE asset_id = a.id AND missed = 0 AND location <> '' LIMIT 3) o) AS "where"
         FROM asset a WHERE a.kind = 'certificate' AND a.state = 'active'
           AND a.not_after > now() AND a.not_after <= now() + make_interval(days => $1)
           AND NOT EXISTS (SELECT FROM alert x WHERE x.rule_id = $2 AND x.key = 'asset:' || a.id AND x.status <> 'RESOLVED')
         ORDER BY a.not_after LIMIT ${BATCH_SIZE}`,
        [days, rule.id],
      );
      await raise(tx, rule.grouping === 'rule' ? groupedHits(rule, ending) : ending.map((one) => hitOf(rule, one)));
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
  const left = Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS);
  return {
    rule,
    key: `asset:${id}`,
    title: `A certificate expires soon: ${name}`,
    subject: { kind: 'asset', id, name },
    facts: {
      ...(where === null ? {} : { where }),
      why: `It ends at ${notAfter.toISOString()}, in ${left} ${left === 1 ? 'day' : 'days'}.`,
    },
    count: 1,
    firstAt: now,
    lastAt: now,
  };
}

/** One alert for all of them, about the one that expires first. */
function groupedHits(rule: AlertRule, ending: readonly ExpiringCertificate[]): Hit[] {
  const [first] = ending;
  if (first === undefined) return [];
  return [{ ...hitOf(rule, first), key: '*', title: 'Certificates end soon', count: ending.length }];
}
