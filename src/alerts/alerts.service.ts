import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, In } from 'typeorm';
import { AuditService, type EntryRecorder } from '../audit/entries/audit.service.js';
import type { Caller } from '../access/caller.js';
import { User } from '../auth/model/user.entity.js';
import { Config } from '../platform/config/config.js';
import { Problem, missing } from '../platform/errors/problem.js';
import { staleProblem } from '../platform/http/versions.js';
import { ALERT_MOVES, type AlertMove, Alert } from './model/alert.entity.js';
import { AlertChannels, type Sent } from './notices/alert-channels.js';
import { alertMessage } from './notices/alert-message.js';
import { AlertRule } from './model/alert-rule.entity.js';

export type AlertChange = Partial<Pick<Alert, 'ownerId' | 'mutedUntil'>>;

const ACTIONS: Record<AlertMove, string> = {
  acknowledge: 'alert.acknowledged',
  resolve: 'alert.resolved',
  reopen: 'alert.reopened',
};

/** AlertsService applies the changes that users make to alerts. */
@Injectable()
export class AlertsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly channels: AlertChannels,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('alert');
  }

  /** Acknowledges, resolves or reopens an alert by compare-and-set: one of two concurrent changes fails with a conflict. */
  async move(caller: Caller, id: string, move: AlertMove, comment: string | undefined): Promise<Alert> {
    const { from, to } = ALERT_MOVES[move];
    return this.db.transaction(async (tx) => {
      const resolved = to === 'RESOLVED';
      const { affected } = await tx.update(
        Alert,
        { id, status: In([...from]) },
        {
          status: to,
          // Events are timestamped by the database clock as well. With another clock, an event that follows the change could appear to precede the change.
          resolvedAt: resolved ? () => 'now()' : null,
          resolvedBy: resolved ? caller.name : null,
          notifyAt: null,
          version: () => 'version + 1',
        },
      );
      const alert = await find(tx, id);
      if (affected !== 1)
        throw new Problem(
          'conflict',
          'alert.status',
          `You cannot ${move} this alert, because its status is ${alert.status}.`,
        );
      await this.record(tx, caller, ACTIONS[move], id, { comment });
      return alert;
    });
  }

  /** Sets the owner of an alert, or mutes the alert. */
  async change(caller: Caller, id: string, version: number, change: AlertChange): Promise<Alert> {
    return this.db.transaction(async (tx) => {
      const { ownerId } = change;
      if (typeof ownerId === 'string' && !(await tx.existsBy(User, { id: ownerId, disabled: false }))) {
        const errors = [{ pointer: '/ownerId', detail: 'must be an active user' }];
        throw new Problem('refused', 'alert.owner', 'The owner must be an active user.', { errors });
      }
      const { affected } = await tx.update(Alert, { id, version }, { ...change, version: version + 1 });
      const alert = await find(tx, id);
      if (affected !== 1) throw staleProblem(`/api/alerts/${id}`);
      await this.record(tx, caller, 'alert.changed', id, { ...change });
      return alert;
    });
  }

  /** Resends the alert's notifications immediately, through every channel of the rule. */
  async notify(caller: Caller, id: string): Promise<Sent[]> {
    return this.db.transaction(async (tx) => {
      const alert = await find(tx, id);
      const rule = await tx.findOneBy(AlertRule, { id: alert.ruleId });
      if (rule === null)
        throw new Problem(
          'conflict',
          'alert.rule-gone',
          'The rule of this alert was deleted, so its notifications cannot be sent again.',
        );
      alert.notifiedCount = 0; // the message contains the total count, not only the new events
      const message = alertMessage(alert, rule, 'asked', this.config.publicUrl);
      const sent = await this.channels.put(tx, rule, message);
      await this.channels.log(tx, alert, 'asked', sent);
      await this.record(tx, caller, 'alert.notified', id, { channels: sent.map(({ channel }) => channel) });
      return sent;
    });
  }
}

async function find(tx: EntityManager, id: string): Promise<Alert> {
  const alert = await tx.findOneBy(Alert, { id });
  if (alert === null) throw missing('alert');
  return alert;
}
