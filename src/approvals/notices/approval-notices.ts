import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isMember } from '../../auth/rights/group-membership.js';
import { EventAnnouncer } from '../../events/event-announcer.service.js';
import { firstIdAt, uuidOf } from '../../platform/database/new-id.js';
import { type AlertEvent, recordAlertEvents } from '../../platform/events/alert-events.js';
import { claimDue, whenDue } from '../../platform/work/claim.js';
import { Mailbox } from '../../notifications/mail/mailbox.js';
import { Background } from '../../platform/work/background.js';
import { Approval, isDecided, isRequester, type NoticeKind, putNotice } from '../model/approval.entity.js';
import { ADDED_BY_REQUESTER, possibleMembers } from '../groups/membership.js';
import { NoticedApprovals } from './noticed-approvals.js';
import { digestMailOf, mailOf, messageOf } from './notice-texts.js';

/** Maximum number of notices per round. Further notices are sent in the next round. Similar notices to a person in the same round share an email. */
const BATCH_SIZE = 200;
/**
 * Number of requests that a person can withdraw per hour before approvers stop receiving emails about that person's new requests. Open requests are limited,
 * but a person who withdraws each request could otherwise cause any number of emails.
 */
const MAX_WITHDRAWN_PER_HOUR = 20;
const HOUR_MS = 3_600_000;
const UNSENT = { table: 'approval_notice', where: 'told_at IS NULL', order: 'id' };
const HALF_OVER = { table: 'approval', where: `status = 'PENDING' AND remind_at <= now()`, order: 'remind_at' };

/** An email to be sent. */
interface Due {
  readonly kind: NoticeKind;
  readonly approval: Approval;
  readonly email: string;
}

interface Waiting {
  readonly id: string;
  readonly approvalId: string;
  readonly kind: NoticeKind;
  readonly at: Date;
}

type Asked = Pick<Approval, 'id' | 'createdAt'>;

/** SQL that selects the candidates for ASKED, because checking every user would be slow. */
const MAY_BE_ASKED = possibleMembers('a.group_id');
/** SQL condition: the person is a member of the current stage's group and has not voted. */
const ASKED = `${isMember('a.group_id', 'person.id', ADDED_BY_REQUESTER)} AND NOT EXISTS (
  SELECT 1 FROM approval_vote v WHERE v.approval_id = a.id AND v.user_id = person.id)`;
const MAY_BE_CONCERNED = `SELECT ${uuidOf('a.owner_id')} AS user_id UNION SELECT p.user_id
  FROM unnest(a.group_ids[1:a.stage + 1]) AS asked(id) CROSS JOIN LATERAL (${possibleMembers('asked.id')}) p`;
/** SQL condition: the person is the requester, or a member of a group that has been asked to vote so far. */
const CONCERNED = `(person.id = ${uuidOf('a.owner_id')} OR EXISTS (
  SELECT 1 FROM unnest(a.group_ids[1:a.stage + 1]) AS asked(id) WHERE ${isMember('asked.id', 'person.id')}))`;

/**
 * ApprovalNotices sends notices to people and programs: requests, reminders and decisions to approvers, and the outcome to the requester. A notice is converted
 * to emails and webhook messages in one transaction. Each message is queued in its own table until it is delivered.
 */
@Injectable()
export class ApprovalNotices {
  constructor(
    private readonly db: DataSource,
    private readonly noticed: NoticedApprovals,
    private readonly mailbox: Mailbox,
    private readonly events: EventAnnouncer,
  ) {}

  /** Sends pending notices. */
  @Background({ name: 'approval-notices', scope: 'process', due: UNSENT, wakes: ['mail', 'webhooks'] })
  async send(): Promise<void> {
    while ((await whenDue(this.db, UNSENT, (tx) => this.sendSome(tx))) === BATCH_SIZE);
  }

  /** Queues one reminder for each approval whose decision period is half over, and records an alert event. */
  @Background({ name: 'approval-reminders', scope: 'process', due: HALF_OVER, wakes: ['approval-notices'] })
  async remind(): Promise<void> {
    await whenDue(this.db, HALF_OVER, async (tx) => {
      const due = await claimDue<Asked>(tx, {
        ...HALF_OVER,
        limit: 100,
        set: 'remind_at = NULL',
        returning: 't.id, t.created_at AS "createdAt"',
      });
      for (const { id } of due) await putNotice(tx, id, 'reminder');
      await recordAlertEvents(tx, due.map(waitingOf));
    });
  }

  private async sendSome(tx: EntityManager): Promise<number> {
    const waiting = await claimDue<Waiting>(tx, {
      ...UNSENT,
      limit: BATCH_SIZE,
      set: 'told_at = now()',
      returning: 't.id, t.approval_id AS "approvalId", t.kind, t.created_at AS at',
    });
    const due: Due[] = [];
    for (const notice of waiting.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
      due.push(...(await this.sendOne(tx, notice)));
    await this.write(tx, due);
    return waiting.length;
  }

  /** Queues the webhook messages of a notice, and returns the emails to be sent. */
  private async sendOne(tx: EntityManager, { approvalId, kind, at }: Waiting): Promise<Due[]> {
    const approval = await this.noticed.find(tx, approvalId);
    // The approval has been decided in the meantime, so nobody needs to vote.
    if (kind !== 'decided' && isDecided(approval.status)) return [];
    // The reminder's event may have opened an alert, which is resolved when the approval is decided.
    if (kind === 'decided' && approval.remindAt === null)
      await recordAlertEvents(tx, [{ ...waitingOf(approval), over: true }]);
    await this.events.announce(tx, messageOf(kind, approval, at, this.noticed.linkTo(approval)));
    if (approval.status === 'SUPERSEDED' || (await isMuted(tx, kind, approval))) return [];
    const people: { email: string }[] = await tx.query(
      `SELECT person.email FROM approval a
       CROSS JOIN LATERAL (${kind === 'decided' ? MAY_BE_CONCERNED : MAY_BE_ASKED}) candidate
       JOIN user_account person ON person.id = candidate.user_id AND NOT person.disabled
       WHERE a.id = $1 AND ${kind === 'decided' ? CONCERNED : `NOT ${isRequester('person.id::text')} AND ${ASKED}`} ORDER BY person.id`,
      [approvalId],
    );
    return people.map(({ email }) => ({ kind, approval, email }));
  }

  /** Queues an email per person and approval, or a single email to a person for several similar approvals. */
  private async write(tx: EntityManager, due: readonly Due[]): Promise<void> {
    const alike = Map.groupBy(due, ({ email, kind, approval }) => `${email} ${kind} ${approval.status}`);
    for (const group of alike.values()) {
      const [{ email, kind, approval }] = group as [Due, ...Due[]];
      const mail =
        group.length === 1
          ? mailOf(kind, approval, email, this.noticed.linkTo(approval))
          : digestMailOf(
              kind,
              group.map((one) => ({ approval: one.approval, link: this.noticed.linkTo(one.approval) })),
              email,
            );
      await this.mailbox.put(tx, mail);
    }
  }
}

/**
 * Reports whether emails about a person's new requests and withdrawals are suppressed, because the person has withdrawn too many requests. Other emails are
 * sent.
 */
async function isMuted(tx: EntityManager, kind: NoticeKind, { ownerId, status }: Approval): Promise<boolean> {
  if (kind === 'reminder' || (kind === 'decided' && status !== 'WITHDRAWN')) return false;
  const rows: unknown[] = await tx.query(
    `SELECT 1 FROM approval WHERE owner_id = $1 AND id >= $2 AND status = 'WITHDRAWN' LIMIT $3`,
    [ownerId, firstIdAt(Date.now() - HOUR_MS), MAX_WITHDRAWN_PER_HOUR + 1],
  );
  return rows.length > MAX_WITHDRAWN_PER_HOUR;
}

/** Returns the alert event of a pending approval. Title and requester are omitted, because alerts may reach more people than the approval. */
function waitingOf({ id, createdAt }: Asked): AlertEvent {
  const why = `It was requested at ${createdAt.toISOString()}, and half of the decision period has passed.`;
  return { type: 'approval.waiting', subject: { kind: 'approval', id, name: id }, facts: { why } };
}
