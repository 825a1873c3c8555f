import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../access/access.js';
import type { Caller } from '../access/caller.js';
import { Repeatable } from '../access/repeatable.js';
import { IdParam } from '../platform/http/id-param.js';
import { NamedPageQuery, PageQuery } from '../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../platform/http/versions.js';
import type { IdempotentUse } from '../platform/http/idempotency-keys.js';
import {
  ChangeScheduleBody,
  CreateScheduleBody,
  SchedulePage,
  ScheduleRunPage,
  ScheduleRunView,
  ScheduleView,
} from './schedules.dto.js';
import { SchedulesService } from './schedules.service.js';

@ApiTags('Schedules')
@Controller('api/schedules')
@UseInterceptors(VersionInterceptor)
export class SchedulesController {
  constructor(private readonly schedules: SchedulesService) {}

  /**
   * Create a schedule
   * @remarks Creates a schedule. Also requires the scope of the operation that the schedule runs.
   */
  @Post()
  @Needs('schedules:write')
  async createSchedule(
    @TheCaller() caller: Caller,
    @Body() body: CreateScheduleBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<ScheduleView> {
    return ScheduleView.of(await this.schedules.create(caller, body.toOrder(), use));
  }

  /**
   * List schedules
   * @remarks Returns schedules, newest first, with their next five due times.
   */
  @Get()
  @Needs('schedules:read')
  async listSchedules(@Query() query: NamedPageQuery): Promise<SchedulePage> {
    return SchedulePage.of(await this.schedules.list(query));
  }

  /**
   * Get a schedule
   * @remarks Returns a schedule.
   */
  @Get(':id')
  @Needs('schedules:read')
  async getSchedule(@Param() { id }: IdParam): Promise<ScheduleView> {
    return ScheduleView.of(await this.schedules.get(id));
  }

  /**
   * Update a schedule
   * @remarks Changes, pauses or resumes a schedule. Also requires the scope of the operation that the schedule runs.
   */
  @Patch(':id')
  @Needs('schedules:write')
  async changeSchedule(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeScheduleBody,
    @ExpectedVersion() version: number,
  ): Promise<ScheduleView> {
    return ScheduleView.of(await this.schedules.change(caller, id, version, body.toChange()));
  }

  /**
   * Delete a schedule
   * @remarks Deletes a schedule and its history.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('schedules:write')
  async removeSchedule(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.schedules.remove(caller, id);
  }

  /**
   * Run a schedule now
   * @remarks Starts a run of a schedule immediately. Also requires the scope of the operation that the schedule runs.
   */
  @Post(':id/run')
  @HttpCode(202)
  @Needs('schedules:write')
  async runSchedule(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<ScheduleRunView> {
    return ScheduleRunView.of(await this.schedules.run(caller, id));
  }

  /**
   * List schedule runs
   * @remarks Returns the runs of a schedule, latest due time first.
   */
  @Get(':id/runs')
  @Needs('schedules:read')
  async listScheduleRuns(@Param() { id }: IdParam, @Query() query: PageQuery): Promise<ScheduleRunPage> {
    return ScheduleRunPage.of(await this.schedules.history((await this.schedules.get(id)).id, query));
  }
}
