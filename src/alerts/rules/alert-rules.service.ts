import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { assertScope } from '../../access/scopes.js';
import { Config } from '../../platform/config/config.js';
import { newId } from '../../platform/database/new-id.js';
import { writeUnique } from '../../platform/errors/database-error.js';
import { assertListed } from '../../platform/database/list-limit.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/http/idempotency-keys.js';
import { ALERT_CONDITION_RULES } from '../model/alert-condition.js';
import { AlertChannels, type Sent } from '../notices/alert-channels.js';
import { alertMessage } from '../notices/alert-message.js';
import { activation, AlertRule } from '../model/alert-rule.entity.js';

export type AlertRuleOrder = Pick<
  AlertRule,
  'name' | 'condition' | 'parameters' | 'severity' | 'grouping' | 'coolDownMinutes' | 'emails' | 'webhooks'
>;
export type AlertRuleChange = Partial<Omit<AlertRuleOrder, 'condition'> & Pick<AlertRule, 'enabled' | 'mutedUntil'>>;

/** Maximum number of rules. The list is not paginated. */
const MAX_RULES = 500;

/** Manages alert rules: which events open alerts, who is notified, and how often. */
@Injectable()
export class AlertRulesService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly idempotency: IdempotencyKeys,
    private readonly channels: AlertChannels,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('alert-rule');
  }

  async create(caller: Caller, order: AlertRuleOrder, use: IdempotentUse | undefined): Promise<AlertRule> {
    assertParameters(order);
    return this.write(order.name, async (tx) => {
      const id = use?.resource ?? newId();
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return find(tx, earlier);
      await assertListed(tx, AlertRule, MAX_RULES);
      await assertWebhooks(tx, order.webhooks);
      await tx.insert(AlertRule, { id, ...order, ...activation(order.condition, true) });
      await this.record(tx, caller, 'alert-rule.created', id, { ...order });
      return find(tx, id);
    });
  }

  async list(): Promise<AlertRule[]> {
    return this.db.manager.find(AlertRule, { order: { name: 'ASC' }, take: MAX_RULES });
  }

  get(id: string): Promise<AlertRule> {
    return find(this.db.manager, id);
  }

  async change(caller: Caller, id: string, version: number, change: AlertRuleChange): Promise<AlertRule> {
    assertMayChange(caller, id);
    const present = await this.get(id);
    const { enabled } = change;
    assertParameters({ condition: present.condition, parameters: change.parameters ?? present.parameters });
    return this.write(change.name ?? present.name, async (tx) => {
      await assertWebhooks(tx, change.webhooks ?? []);
      const columns = { ...change, ...(enabled === undefined ? {} : activation(present.condition, enabled)) };
      const { affected } = await tx.update(AlertRule, { id, version }, { ...columns, version: version + 1 });
      if (affected !== 1) throw staleProblem(`/api/alert-rules/${id}`);
      await this.record(tx, caller, 'alert-rule.changed', id, { ...change });
      return find(tx, id);
    });
  }

  /** Deletes a rule and resolves the alerts that it opened. */
  async remove(caller: Caller, id: string): Promise<void> {
    assertMayChange(caller, id);
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.delete(AlertRule, { id });
      if (affected !== 1) throw missing('alert-rule');
      await tx.query(
        `UPDATE alert SET status = 'RESOLVED', resolved_at = now(), resolved_by = $2, notify_at = NULL WHERE rule_id = $1 AND status <> 'RESOLVED'`,
        [id, caller.name],
      );
      await this.record(tx, caller, 'alert-rule.removed', id);
    });
  }

  /** Sends an example notification through every channel of the rule. No alert is opened. */
  async test(caller: Caller, id: string): Promise<Sent[]> {
    return this.db.transaction(async (tx) => {
      const rule = await find(tx, id);
      const now = new Date();
      const { headline } = ALERT_CONDITION_RULES[rule.condition];
      const example = {
        id,
        status: 'OPEN' as const,
        severity: rule.severity,
        title: `Test: ${headline}`,
        subjectKind: 'test',
        subjectId: id,
        subjectName: 'none (this is a test)',
        facts: { why: `${caller.name} requested a test of the rule "${rule.name}".` },
        count: 1,
        notifiedCount: 0,
        firstAt: now,
        lastAt: now,
      };
      const sent = await this.channels.put(tx, rule, alertMessage(example, rule, 'asked', this.config.publicUrl));
      if (sent.length === 0) {
        const detail =
          'This rule has no recipients: email alerts are disabled or have no recipient, and no webhook endpoint subscribes to it. Add a recipient to the rule.';
        throw new Problem('conflict', 'alert-rule.no-channel', detail);
      }
      await this.record(tx, caller, 'alert-rule.tested', id, { channels: sent.map(({ channel }) => channel) });
      return sent;
    });
  }

  private write(name: string, work: (tx: EntityManager) => Promise<AlertRule>): Promise<AlertRule> {
    const taken = () => new Problem('conflict', 'alert-rule.name', `An alert rule named "${name}" already exists.`);
    return writeUnique(this.db, work, taken);
  }
}

/** Prefix of the IDs of predefined rules, which are created together with the database. */
const PREDEFINED = '019a0000-0000-7000-8000-';

/** Throws unless the caller may change the rule. Only administrators may change predefined rules, because these rules report attacks to administrators. */
function assertMayChange({ scopes }: Caller, id: string): void {
  if (id.toLowerCase().startsWith(PREDEFINED)) assertScope(scopes, 'settings:write');
}

async function find(tx: EntityManager, id: string): Promise<AlertRule> {
  const rule = await tx.findOneBy(AlertRule, { id });
  if (rule === null) throw missing('alert-rule');
  return rule;
}

function assertParameters({ condition, parameters }: Pick<AlertRule, 'condition' | 'parameters'>): void {
  const wanted = condition === 'risk-threshold' ? 'level' : condition === 'certificate-expiring' ? 'days' : undefined;
  const surplus = Object.keys(parameters).find((name) => name !== wanted);
  if (surplus === undefined && (wanted === undefined || parameters[wanted] !== undefined)) return;
  const pointer = `/parameters/${surplus ?? wanted}`;
  const detail =
    surplus === undefined
      ? `is required for the "${condition}" condition`
      : `is not a parameter of the "${condition}" condition`;
  throw new Problem('refused', 'alert-rule.parameters', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

async function assertWebhooks(tx: EntityManager, ids: readonly string[]): Promise<void> {
  const found: { id: string }[] = await tx.query(`SELECT id FROM webhook_endpoint WHERE id = ANY($1::uuid[])`, [ids]);
  const known = new Set(found.map(({ id }) => id));
  const errors = ids.flatMap((id, i) =>
    known.has(id) ? [] : [{ pointer: `/webhooks/${i}`, detail: `no webhook endpoint has the ID "${id}"` }],
  );
  if (errors.length > 0)
    throw new Problem('refused', 'alert-rule.webhook', `${errors[0]?.pointer}: ${errors[0]?.detail}.`, { errors });
}
