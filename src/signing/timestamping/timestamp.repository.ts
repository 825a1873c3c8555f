import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type NewEntry } from '../../audit/entries/audit.service.js';
import type { Actor } from '../../access/caller.js';
import { columns } from '../../platform/database/statements.js';
import { GroupCommit } from '../../platform/database/group-commit.js';
import { claimDue } from '../../platform/work/claim.js';
import type { Timestamp } from './timestamp.entity.js';
import type { TimestampRefusal } from './timestamp-query.js';

/** The requester of a timestamp, and the correlation ID of the call. */
export interface TimestampRequester {
  readonly actor: Actor;
  readonly ownerId: string;
  readonly correlation: string;
  readonly source?: string;
}

export type TimestampIntent = Pick<
  Timestamp,
  'id' | 'digest' | 'algorithm' | 'genTime' | 'keyId' | 'keyVersion' | 'signedDigest' | 'requestId'
> & { readonly requester: TimestampRequester };

interface Outcome {
  readonly intent: TimestampIntent;
  readonly signature: Buffer | null;
  readonly failureCode: string | null;
}

/** A process that has not reported the outcome of a token after this time is considered dead. */
const LOST_AFTER = '1 minute';
const BACKGROUND: Actor = { kind: 'system', id: 'schedule', name: 'schedule' };

/**
 * TimestampRepository commits the intent of every token before the HSM is called, and the outcome before the client gets the token. Concurrent writes are
 * grouped.
 */
@Injectable()
export class TimestampRepository implements OnApplicationShutdown {
  private readonly intents: GroupCommit<TimestampIntent, Date>;
  private readonly outcomes: GroupCommit<Outcome, boolean>;
  private readonly refusals: GroupCommit<NewEntry, undefined>;

  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
  ) {
    this.intents = new GroupCommit(db, (tx, items) => this.writeIntents(tx, items));
    this.outcomes = new GroupCommit(db, (tx, items) => this.writeOutcomes(tx, items));
    this.refusals = new GroupCommit(db, async (tx, entries) => {
      await audit.append(tx, entries);
      return entries.map(() => undefined);
    });
  }

  /** Commits the intent. Returns the time of the database clock during the write. */
  intend(intent: TimestampIntent): Promise<Date> {
    return this.intents.add(intent);
  }

  /** Commits the outcome. Returns false if the token has been marked as LOST in the meantime; the token must then not be returned to the client. */
  settle(intent: TimestampIntent, outcome: Pick<Outcome, 'signature' | 'failureCode'>): Promise<boolean> {
    return this.outcomes.add({ intent, ...outcome });
  }

  /** Records a rejected query. */
  async refuse(
    { actor, correlation, source }: TimestampRequester,
    { failure, message }: TimestampRefusal,
  ): Promise<void> {
    const target = { kind: 'operation', id: 'POST /tsa' };
    const detail = { failure, message };
    await this.refusals.add({
      action: 'timestamp.refused',
      outcome: 'refused',
      actor,
      target,
      correlation,
      source,
      detail,
    });
  }

  /** Marks tokens as LOST if their process has not reported an outcome. */
  async giveUp(): Promise<void> {
    await this.db.transaction(async (tx) => {
      const rows = await claimDue<Pick<Timestamp, 'id'>>(tx, {
        table: '"timestamp"',
        where: `status = 'PENDING' AND created_at < now() - interval '${LOST_AFTER}'`,
        order: 'created_at',
        limit: 500,
        set: `status = 'LOST', failure_code = 'timestamp.worker-lost'`,
        returning: 't.id',
      });
      await this.audit.append(
        tx,
        rows.map(({ id }) => ({
          action: 'timestamp.outcome-unknown',
          outcome: 'failed',
          actor: BACKGROUND,
          target: { kind: 'timestamp', id },
          correlation: id,
        })),
      );
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.intents.drained(), this.outcomes.drained(), this.refusals.drained()]);
  }

  private async writeIntents(tx: EntityManager, items: TimestampIntent[]): Promise<Date[]> {
    const { from, values } = columns(items.map(rowOf), {
      id: 'uuid',
      digest: 'bytea',
      algorithm: 'text',
      gen_time: 'timestamptz',
      key_id: 'uuid',
      key_version: 'int',
      signed_digest: 'bytea',
      request_id: 'uuid',
      owner_id: 'text',
      requested_by: 'text',
    });
    const names =
      'id, digest, algorithm, gen_time, key_id, key_version, signed_digest, request_id, owner_id, requested_by';
    const rows: { at: Date }[] = await tx.query(
      `INSERT INTO "timestamp" (${names}, status) SELECT ${names}, 'PENDING' FROM ${from} RETURNING clock_timestamp() AS at`,
      values,
    );
    const at = rows[0]?.at ?? new Date(Number.NaN);
    return items.map(() => at);
  }

  private async writeOutcomes(tx: EntityManager, items: Outcome[]): Promise<boolean[]> {
    const { from, values } = columns(
      items.map(({ intent, signature, failureCode }) => ({ id: intent.id, signature, failure_code: failureCode })),
      { id: 'uuid', signature: 'bytea', failure_code: 'text' },
    );
    const [rows]: [{ id: string }[], number] = await tx.query(
      `UPDATE "timestamp" t SET signature = item.signature, failure_code = item.failure_code,
         status = CASE WHEN item.signature IS NULL THEN 'FAILED' ELSE 'ISSUED' END
       FROM ${from} WHERE t.id = item.id AND t.status = 'PENDING' RETURNING t.id`,
      values,
    );
    const moved = new Set(rows.map(({ id }) => id));
    await this.audit.append(
      tx,
      items.map((item) => entryOf(item, moved.has(item.intent.id))),
    );
    return items.map(({ intent }) => moved.has(intent.id));
  }
}

function rowOf({ requester, ...intent }: TimestampIntent) {
  return {
    id: intent.id,
    digest: intent.digest,
    algorithm: intent.algorithm,
    gen_time: intent.genTime,
    key_id: intent.keyId,
    key_version: intent.keyVersion,
    signed_digest: intent.signedDigest,
    request_id: intent.requestId,
    owner_id: requester.ownerId,
    requested_by: requester.actor.id,
  };
}

function entryOf({ intent, signature, failureCode }: Outcome, moved: boolean): NewEntry {
  const { requester, id, genTime, keyId, keyVersion, digest, algorithm, requestId } = intent;
  const action = !moved ? 'timestamp.discarded' : signature === null ? 'timestamp.failed' : 'timestamp.issued';
  return {
    action,
    outcome: action === 'timestamp.issued' ? 'done' : 'failed',
    actor: requester.actor,
    target: { kind: 'timestamp', id },
    correlation: requester.correlation,
    source: requester.source,
    detail: {
      genTime,
      keyId,
      keyVersion,
      algorithm,
      digest: digest.toString('base64'),
      request: requestId ?? undefined,
      code: failureCode ?? undefined,
    },
  };
}
