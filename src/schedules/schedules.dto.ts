import { ApiProperty, ApiPropertyOptional, OmitType, PartialType } from '@nestjs/swagger';
import { IsObject, IsOptional } from 'class-validator';
import { viewOf } from '../platform/http/fields/view-of.js';
import { Flag, Int, Name, OneOf, Optional, Text } from '../platform/http/fields/fields.js';
import { PageOf } from '../platform/http/fields/page-of.js';
import { JsonAtMost } from '../platform/http/field-rules.js';
import {
  RUN_STATUSES,
  type RunStatus,
  type RunTrigger,
  type ScheduleRun,
} from '../platform/events/schedule-run.entity.js';
import { dueTimes } from './due-times.js';
import { MISSED_RULES, type MissedRule, type Schedule } from './schedule.entity.js';
import type { ScheduleChange, ScheduleOrder } from './schedules.service.js';

const SETTINGS = {
  type: 'object',
  additionalProperties: true,
  example: { sensor: '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11' },
} as const;
const SHOWN = 5;

export class CreateScheduleBody {
  /** Unique name of the schedule. @example 'nightly scan of the data centre' */
  @Name(1, 100) name: string;
  /** Cron expression with five fields: minute, hour, day of month, month, day of week. Mutually exclusive with `intervalSeconds`. @example '30 2 * * *' */
  @Optional(Text(9, 100)) cron?: string;
  /** @example 3600 */
  @Optional(Int(60, 31_536_000)) intervalSeconds?: number;
  /** IANA time zone in which `cron` is evaluated. @example Europe/Berlin */
  @Optional(Text(1, 64)) timeZone?: string;
  /** Operation that the schedule runs. @example sensor-scan */
  @Text(1, 64) target: string;
  /** Settings of the operation that the schedule runs. */
  @ApiPropertyOptional(SETTINGS) @IsOptional() @IsObject() @JsonAtMost(16_384) settings?: Record<string, unknown>;
  /** For runs that became due while no worker was running: `once` starts one run for all missed runs, and `skip` starts none. */
  @Optional(OneOf(MISSED_RULES, { example: 'once' })) missed?: MissedRule;
  /** Time limit of a run in minutes. A run that takes longer fails. @example 1440 */
  @Optional(Int(1, 10_080)) timeoutMinutes?: number;

  toOrder(): ScheduleOrder {
    const { name, cron = null, intervalSeconds = null, timeZone = 'UTC', target } = this;
    const { settings = {}, missed = 'once', timeoutMinutes = 1440 } = this;
    return { name, cron, intervalSeconds, timeZone, target, settings, missed, timeoutMinutes };
  }
}

/** Omitted fields remain unchanged. */
export class ChangeScheduleBody extends PartialType(OmitType(CreateScheduleBody, ['target', 'toOrder'])) {
  /** Whether the schedule is enabled; false pauses the schedule. @example false */
  @Optional(Flag()) enabled?: boolean;

  toChange(): ScheduleChange {
    return Object.fromEntries(Object.entries(this).filter(([, value]) => value !== undefined));
  }
}

export class ScheduleView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'nightly scan of the data centre' */
  name: string;
  /** @example '30 2 * * *' */
  cron: string | null;
  /** @example 3600 */
  intervalSeconds: number | null;
  /** @example Europe/Berlin */
  timeZone: string;
  /** @example sensor-scan */
  target: string;
  @ApiProperty(SETTINGS) settings: Record<string, unknown>;
  @ApiProperty({ enum: MISSED_RULES, example: 'once' }) missed: MissedRule;
  /** @example 1440 */
  timeoutMinutes: number;
  /** False if the schedule is paused. @example true */
  enabled: boolean;
  /**
   * Reason why the service paused the schedule: the last author no longer has the scope of the operation that the schedule runs. Any user who has the scope can
   * resume the schedule.
   * @example 'Paused: …'
   */
  pausedBecause: string | null;
  /** The next five due times; empty while the schedule is paused. */
  @ApiProperty({ type: String, format: 'date-time', isArray: true, example: ['2026-11-21T01:30:00.000Z'] })
  next: Date[];
  /** Version of the schedule. The ETag is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;

  static of(schedule: Schedule): ScheduleView {
    const { id, name, cron, intervalSeconds, timeZone, target, settings, missed, timeoutMinutes } = schedule;
    const { enabled, pausedBecause, version, createdAt } = schedule;
    const next = enabled ? dueTimes(schedule, new Date(), SHOWN) : [];
    const what = { id, name, cron, intervalSeconds, timeZone, target, settings, missed, timeoutMinutes };
    return { ...what, enabled, pausedBecause, next, version, createdAt };
  }
}

export class SchedulePage extends PageOf(ScheduleView) {}

export class ScheduleRunView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  dueAt: Date;
  /** Trigger of the run: `time` (the run was due), `missed` (no worker was running when the run was due) or `hand` (a user started it). */
  @ApiProperty({ enum: ['time', 'missed', 'hand'], example: 'time' }) trigger: RunTrigger;
  @ApiProperty({ enum: RUN_STATUSES, example: 'SUCCEEDED' }) status: RunStatus;
  /** Result of the run, or the reason why the run was skipped or failed. @example '1,204 assets' */
  detail: string | null;
  /** Number of missed due times that the run covers. @example 0 */
  missed: number;
  startedAt: Date | null;
  endedAt: Date | null;

  static of(row: ScheduleRun): ScheduleRunView {
    return viewOf(ScheduleRunView, row);
  }
}

export class ScheduleRunPage extends PageOf(ScheduleRunView) {}
