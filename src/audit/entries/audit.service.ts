import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Actor, Caller } from '../../access/caller.js';
import { columns, prepared } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import type { Origin } from '../../platform/http/origin.js';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../platform/http/cursors.js';
import { assertSpan } from '../../platform/http/list-filter.js';
import type { PageQuery } from '../../platform/http/page.js';
import { sealsOf } from '../../platform/sealing/row-seals.js';
import { notWritten } from '../../platform/sealing/sealed-rows.js';
import { entriesAbout } from './entry-row.js';
import { AuditSeals, type SealedFields } from './audit-seals.js';
import { AuditEntry, type AuditOutcome } from './audit-entry.entity.js';

export interface NewEntry {
  /** ID of the entry. Defaults to a new ID. */
  readonly id?: string;
  readonly action: string;
  readonly outcome?: AuditOutcome;
  readonly actor: Actor;
  readonly target: { readonly kind: string; readonly id: string };
  readonly correlation: string;
  readonly source?: string;
  /** Facts that are safe to display. Never contains a secret or a complete request body. */
  readonly detail?: Record<string, unknown>;
  /** The record of a signature. The record gets its own leaf in the log. */
  readonly record?: string;
}

/** An entry with its position in the log. */
export interface PlacedEntry {
  readonly entry: AuditEntry;
  /** Index of the entry's leaf; null until the entry has a leaf. */
  readonly leaf: number | null;
  /** Whether the entry is waiting for a leaf, which is appended after about a second. */
  readonly waits: boolean;
}

/** An entry without the facts about the call: caller, request ID and IP address. */
type CallEntry = Omit<NewEntry, 'actor' | 'correlation' | 'source'>;

/** Records, in the caller's transaction, what a call did to the resource with this ID. */
export type EntryRecorder = (
  tx: EntityManager,
  by: Actor & { readonly origin: Origin },
  action: string,
  id: string,
  detail?: Record<string, unknown>,
) => Promise<void>;

export interface AuditFilter extends PageQuery {
  /** One action, or a prefix with `.*`. */
  readonly action?: string;
  readonly actor?: string;
  readonly outcome?: AuditOutcome;
  readonly target?: string;
  /** X-Request-Id of a call that was refused or failed. */
  readonly correlation?: string;
  readonly from?: Date;
  readonly to?: Date;
}

/** Maximum number of entries in a statement. More entries would exceed the statement timeout. */
const MAX_APPENDED = 1000;

/** AuditService writes and lists audit entries. An entry commits together with the change that it records. */
@Injectable()
export class AuditService {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly seals: AuditSeals,
  ) {}

  /**
   * Writes entries in the caller's transaction. If an entry cannot be written, the recorded change is rolled back. Throws Problem `row.not-written` if the
   * database skipped an entry, for example because of a trigger.
   */
  async append(tx: EntityManager, entries: readonly NewEntry[]): Promise<void> {
    for (let start = 0; start < entries.length; start += MAX_APPENDED)
      await this.appendOnce(tx, entries.slice(start, start + MAX_APPENDED));
  }

  private async appendOnce(tx: EntityManager, entries: readonly NewEntry[]): Promise<void> {
    // The edit counter distinguishes an earlier version of the row from the current version.
    const seals = sealsOf(tx);
    const rows = entries.map((entry) => this.rowOf(entry, seals.notedEdit(tx, entry.target.id)));
    const { from, values } = columns(rows, {
      id: 'uuid',
      action: 'text',
      outcome: 'text',
      actor_kind: 'text',
      actor_id: 'text',
      actor_name: 'text',
      target_kind: 'text',
      target_id: 'text',
      correlation: 'text',
      source: 'text',
      detail: 'jsonb',
      record: 'text',
      seal: 'bytea',
    });
    const written = await prepared<{ id: string }>(
      tx,
      'append',
      `WITH entry AS (
         INSERT INTO audit_entry
           (id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail, record, seal, at)
         SELECT id, action, outcome, actor_kind, actor_id, actor_name, target_kind, target_id, correlation, source, detail::jsonb, record, seal, now()
         FROM ${from} RETURNING id)
       INSERT INTO log_waiting (entry_id) SELECT id FROM entry RETURNING entry_id AS id`,
      values,
    );
    const ids = new Set(written.map(({ id }) => id));
    if (!rows.every(({ id }) => ids.has(id))) throw notWritten('audit_entry');
  }

  /** Adds an entry about the effect of a call. The entry contains the request ID and the address of the call. */
  appendBy(tx: EntityManager, actor: Actor & Pick<Caller, 'origin' | 'session'>, entry: CallEntry): Promise<void> {
    return this.appendAllBy(tx, actor, [entry]);
  }

  /** Like `appendBy`, for all effects of a call. */
  appendAllBy(
    tx: EntityManager,
    actor: Actor & Pick<Caller, 'origin' | 'session'>,
    entries: readonly CallEntry[],
  ): Promise<void> {
    const { requestId: correlation, address: source } = actor.origin;
    const { clientId } = actor.session ?? {};
    // For a client's session, the entry contains the client's ID, because anyone who knows the client's secret could have made the call.
    const client = actor.kind === 'user' && clientId ? { client: clientId } : undefined;
    const rows = entries.map((entry) => {
      const detail = client === undefined ? entry.detail : { ...client, ...entry.detail };
      return { ...entry, detail, actor, correlation, source };
    });
    return this.append(tx, rows);
  }

  /**
   * Reports whether the service recorded an action about a target. A revocation that exists only in its row may have been written with SQL and may be
   * undone later, so the caller records the revocation again.
   *
   * @param undoneBy action that reverses `action`
   */
  async isRecorded(tx: EntityManager, action: string, targetId: string, undoneBy = action): Promise<boolean> {
    const rows = await entriesAbout(tx, [targetId], [action, undoneBy]);
    return rows.findLast((row) => this.seals.verifies(row, row.seal))?.action === action;
  }

  /** Returns the recorder for resources of one kind, such as `alert-rule`. */
  recorderFor(kind: string): EntryRecorder {
    return (tx, by, action, id, detail) => this.appendBy(tx, by, { action, target: { kind, id }, detail });
  }

  /** Returns entries, newest first, each with its position in the log. */
  async list(filter: AuditFilter): Promise<Page<PlacedEntry>> {
    const { limit = DEFAULT_LIMIT, cursor, ...wanted } = filter;
    const { action, actor, outcome, target, correlation, from, to } = wanted;
    assertSpan({ from, to });
    const list = `audit ${JSON.stringify([action, actor, outcome, target, correlation, from, to])}`;
    const [before] = this.cursors.read(list, cursor) ?? [];
    const query = this.db
      .createQueryBuilder(AuditEntry, 'entry')
      .orderBy('entry.at', 'DESC')
      .addOrderBy('entry.id', 'DESC')
      .take(limit + 1);
    for (const [condition, values] of conditionsOf(wanted)) query.andWhere(condition, values);
    // Reads the time from the entry, because a cursor would truncate the time to milliseconds.
    const place = '((SELECT last.at FROM audit_entry last WHERE last.id = :before), CAST(:before AS uuid))';
    if (before !== undefined) query.andWhere(`(entry.at, entry.id) < ${place}`, { before });
    const { items, nextCursor } = this.cursors.page(list, await query.getMany(), limit, ({ id }) => [id]);
    return { items: await this.placed(items), nextCursor };
  }

  private async placed(entries: readonly AuditEntry[]): Promise<PlacedEntry[]> {
    const rows: { id: string; leaf: string | null; waits: boolean }[] = await this.db.query(
      `SELECT id, EXISTS (SELECT FROM log_waiting w WHERE w.entry_id = id) AS waits,
         (SELECT min(l.index) FROM log_leaf l WHERE l.entry_id = id AND l.index >= 0 AND l.index < (SELECT size FROM log_head)) AS leaf
       FROM unnest($1::uuid[]) AS asked(id)`,
      [entries.map(({ id }) => id)],
    );
    const places = new Map(
      rows.map(({ id, leaf, waits }) => [id, { leaf: leaf === null ? null : Number(leaf), waits }]),
    );
    return entries.map((entry) => ({ entry, ...(places.get(entry.id) ?? { leaf: null, waits: false }) }));
  }

  private rowOf(entry: NewEntry, edit: number | undefined) {
    const row = {
      id: entry.id ?? newId(),
      action: entry.action,
      outcome: entry.outcome ?? 'done',
      actorKind: entry.actor.kind,
      actorId: entry.actor.id,
      actorName: entry.actor.name,
      targetKind: entry.target.kind,
      targetId: entry.target.id,
      correlation: entry.correlation,
      source: entry.source ?? '',
      detail: edit === undefined ? (entry.detail ?? {}) : { ...entry.detail, edit },
      record: entry.record ?? null,
    };
    return { ...snakeOf(row), seal: this.seals.sealOf(row) };
  }
}

const WILDCARD = '.*';

function conditionsOf(filter: AuditFilter): [condition: string, values: Record<string, unknown>][] {
  const { action, outcome } = filter;
  const isFamily = action?.endsWith(WILDCARD) === true;
  const conditions: Record<string, string> = {
    action: isFamily ? 'starts_with(entry.action, :action)' : 'entry.action = :action',
    actor: 'entry.actorId = :actor',
    // Failures and refusals are rare and have a partial index.
    outcome: outcome === 'done' ? 'entry.outcome = :outcome' : `entry.outcome = :outcome AND entry.outcome <> 'done'`,
    target: 'entry.targetId = :target',
    // Only entries of refused and failed calls are indexed by request ID.
    correlation: `entry.correlation = :correlation AND entry.outcome <> 'done'`,
    from: 'entry.at >= :from',
    to: 'entry.at < :to',
  };
  const values = { ...filter, action: isFamily ? action.slice(0, 1 - WILDCARD.length) : action };
  return Object.entries(conditions).flatMap(([name, condition]) => {
    const value = values[name as keyof AuditFilter];
    return value === undefined ? [] : [[condition, { [name]: value }]];
  });
}

function snakeOf({ actorKind, actorId, actorName, targetKind, targetId, ...row }: SealedFields) {
  const actor = { actor_kind: actorKind, actor_id: actorId, actor_name: actorName };
  return { ...row, ...actor, target_kind: targetKind, target_id: targetId };
}
