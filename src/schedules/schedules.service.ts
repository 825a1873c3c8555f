import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type EntryRecorder } from '../audit/entries/audit.service.js';
import { type Caller, othersBehindOrder } from '../access/caller.js';
import { assertScope, type Scope } from '../access/scopes.js';
import { newId } from '../platform/database/new-id.js';
import { writeUnique } from '../platform/errors/database-error.js';
import { Cursors, DEFAULT_LIMIT, type Page } from '../platform/http/cursors.js';
import type { NamedPageQuery, PageQuery } from '../platform/http/page.js';
import { Problem, missing } from '../platform/errors/problem.js';
import { staleProblem } from '../platform/http/versions.js';
import { type IdempotentUse, IdempotencyKeys } from '../platform/http/idempotency-keys.js';
import { ScheduleRun } from '../platform/events/schedule-run.entity.js';
import { type ScheduleTarget, ScheduleTargets } from '../platform/events/schedule-targets.js';
import { nextDue, timetableFault } from './due-times.js';
import { insertRun } from './schedule-ticker.js';
import { Schedule } from './schedule.entity.js';

export type ScheduleOrder = Pick<
  Schedule,
  'name' | 'cron' | 'intervalSeconds' | 'timeZone' | 'target' | 'settings' | 'missed' | 'timeoutMinutes'
>;
export type ScheduleChange = Partial<Omit<ScheduleOrder, 'target'> & Pick<Schedule, 'enabled'>>;

/** SchedulesService manages schedules and their runs. */
@Injectable()
export class SchedulesService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    audit: AuditService,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly targets: ScheduleTargets,
  ) {
    this.record = audit.recorderFor('schedule');
  }

  async create(caller: Caller, order: ScheduleOrder, use: IdempotentUse | undefined): Promise<Schedule> {
    await this.assertGood(caller, order, new Date());
    return this.write(order.name, async (tx) => {
      const id = use?.resource ?? newId();
      const earlier = await this.idempotency.earlier(tx, use);
      if (earlier !== undefined) return find(tx, earlier);
      await tx.insert(Schedule, { id, ...order, settings: order.settings as never, ...authorOf(caller) });
      await renew(tx, id);
      await this.record(tx, caller, 'schedule.created', id, { ...order });
      return find(tx, id);
    });
  }

  async list(page: NamedPageQuery): Promise<Page<Schedule>> {
    return this.cursors.newestNamed('schedules', this.db.createQueryBuilder(Schedule, 'schedule'), page);
  }

  get(id: string): Promise<Schedule> {
    return find(this.db.manager, id);
  }

  /**
   * Changes a schedule. New due times take effect immediately; runs that fell due during a pause are skipped. Unless the schedule is paused, the schedule then
   * runs in the caller's name.
   */
  async change(caller: Caller, id: string, version: number, change: ScheduleChange): Promise<Schedule> {
    const present = await this.get(id);
    const { name, target, settings, timeZone, missed, timeoutMinutes } = present;
    const times = { cron: present.cron, intervalSeconds: present.intervalSeconds, timeZone };
    if (change.cron !== undefined && change.cron !== null) times.intervalSeconds = null;
    if (change.intervalSeconds !== undefined && change.intervalSeconds !== null) times.cron = null;
    const next = { name, target, settings, missed, timeoutMinutes, enabled: present.enabled, ...times, ...change };
    const owned = next.enabled ? { ...authorOf(caller), pausedBecause: null } : {};
    await this.assertGood(caller, next, present.createdAt);
    return this.write(next.name, async (tx) => {
      const { affected } = await tx.update(Schedule, { id, version }, { ...next, ...owned, settings: next.settings as never, version: version + 1 }); // prettier-ignore
      if (affected !== 1) throw staleProblem(`/api/schedules/${id}`);
      await renew(tx, id);
      await this.record(tx, caller, 'schedule.changed', id, { ...change });
      return find(tx, id);
    });
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.delete(Schedule, { id });
      if (affected !== 1) throw missing('schedule');
      await tx.delete(ScheduleRun, { scheduleId: id });
      await this.record(tx, caller, 'schedule.removed', id, {});
    });
  }

  /** Starts a run immediately, in addition to the due times. */
  async run(caller: Caller, id: string): Promise<ScheduleRun> {
    this.targetFor(caller, (await this.get(id)).target);
    return this.db.transaction(async (tx) => {
      const rows: { now: Date }[] = await tx.query(`SELECT now() AS now FROM schedule WHERE id = $1 FOR UPDATE`, [id]);
      const [row] = rows;
      if (row === undefined) throw missing('schedule');
      const run = await insertRun(tx, {
        schedule: id,
        dueAt: row.now,
        trigger: 'hand',
        missed: 0,
        skipped: undefined,
        askedBy: caller.id,
      });
      const made = run === undefined ? null : await tx.findOneBy(ScheduleRun, { id: run });
      if (made === null || made.status === 'SKIPPED')
        throw new Problem(
          'conflict',
          'schedule.running',
          'A run of this schedule is already in progress. Wait for the run to end.',
        );
      await this.record(tx, caller, 'schedule.run', id, { run: made.id });
      return made;
    });
  }

  /** Returns the runs of a schedule, latest due time first. */
  async history(id: string, { limit = DEFAULT_LIMIT, cursor }: PageQuery): Promise<Page<ScheduleRun>> {
    const list = `schedule-runs ${id}`;
    const [before] = this.cursors.read(list, cursor) ?? [];
    const select = this.db
      .createQueryBuilder(ScheduleRun, 'run')
      .where('run.scheduleId = :id', { id })
      .orderBy('run.dueAt', 'DESC')
      .take(limit + 1);
    if (before !== undefined) select.andWhere('run.dueAt < :before', { before });
    return this.cursors.page(list, await select.getMany(), limit, ({ dueAt }) => [dueAt.toISOString()]);
  }

  private async assertGood(caller: Caller, order: ScheduleOrder, createdAt: Date): Promise<void> {
    const target = this.targetFor(caller, order.target);
    const fault = timetableFault({ ...order, createdAt });
    if (fault !== undefined) {
      throw new Problem('refused', 'schedule.time', `${fault.pointer}: ${fault.detail}.`, { errors: [fault] });
    }
    await target.check(order.settings);
  }

  /** Returns the target, and verifies that the caller has the target's scope. Runs start without a caller, so the author's scope is verified here. */
  private targetFor(caller: Caller, kind: string): ScheduleTarget {
    const target = this.targets.get(kind);
    if (target === undefined) {
      const detail = `must be one of ${this.targets.kinds.join(', ')}`;
      const errors = [{ pointer: '/target', detail }];
      throw new Problem('refused', 'schedule.target', `/target: ${detail}.`, { errors });
    }
    assertScope(caller.scopes, target.scope as Scope);
    return target;
  }

  private write(name: string, work: (tx: EntityManager) => Promise<Schedule>): Promise<Schedule> {
    const taken = () => new Problem('conflict', 'schedule.name', `A schedule named "${name}" already exists.`);
    return writeUnique(this.db, work, taken);
  }
}

function authorOf(caller: Caller): Pick<Schedule, 'madeBy' | 'madeBehind'> {
  return { madeBy: caller.id, madeBehind: othersBehindOrder(caller) };
}

async function find(tx: EntityManager, id: string): Promise<Schedule> {
  const schedule = await tx.findOneBy(Schedule, { id });
  if (schedule === null) throw missing('schedule');
  return schedule;
}

/** Sets the next due time, by the database clock. */
async function renew(tx: EntityManager, id: string): Promise<void> {
  const schedule = await find(tx, id);
  const [clock]: { now: Date }[] = await tx.query(`SELECT now() AS now`);
  if (clock === undefined) return;
  await tx.update(Schedule, { id }, { nextDueAt: nextDue(schedule, clock.now) });
}
