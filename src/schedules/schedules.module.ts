import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { RightsModule } from '../auth/rights/rights.module.js';
import { RunExecutor } from './run-executor.js';
import { ScheduleClock } from './schedule-clock.schedule.js';
import { ScheduleStarter } from './schedule-starter.js';
import { ScheduleTicker } from './schedule-ticker.js';
import { Schedule } from './schedule.entity.js';
import { SchedulesController } from './schedules.controller.js';
import { SchedulesService } from './schedules.service.js';

/** SchedulesModule manages schedules. Other modules register the targets that can be scheduled (`ScheduleTargets`). */
@Module({
  imports: [AuditModule, AuthModule, TypeOrmModule.forFeature([Schedule])],
  controllers: [SchedulesController],
  providers: [SchedulesService],
})
export class SchedulesModule {}

/** SchedulesWorkerModule starts and executes due runs in the background. */
@Module({
  imports: [RightsModule, SchedulesModule],
  providers: [RunExecutor, ScheduleClock, ScheduleStarter, ScheduleTicker],
})
export class SchedulesWorkerModule {}
