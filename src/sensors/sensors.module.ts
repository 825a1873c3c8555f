import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { RightsModule } from '../auth/rights/rights.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { Heartbeats } from './heartbeats.service.js';
import { RunExecutor } from './schedules/run-executor.js';
import { RunExecutorSchedule } from './schedules/run-executor.schedule.js';
import { ScheduleClock } from './schedules/schedule-clock.schedule.js';
import { ScheduleStarter } from './schedules/schedule-starter.js';
import { ScheduleTicker } from './schedules/schedule-ticker.js';
import { Schedule } from './schedules/schedule.entity.js';
import { SchedulesController } from './schedules/schedules.controller.js';
import { SchedulesService } from './schedules/schedules.service.js';
import { SensorApiKey } from './sensor-api-key.entity.js';
import { SensorCommand } from './sensor-command.entity.js';
import { SensorKeys } from './sensor-keys.service.js';
import { SensorScanTarget } from './sensor-scan.target.js';
import { SensorSilenceSchedule } from './sensor-silence.schedule.js';
import { Sensor } from './sensor.entity.js';
import { SensorsController } from './sensors.controller.js';
import { SensorsService } from './sensors.service.js';

/** Sensors, and the schedules that start scans of them and of everything else. */
@Module({
  imports: [AuditModule, AuthModule, TypeOrmModule.forFeature([Schedule, Sensor, SensorApiKey, SensorCommand])],
  controllers: [SchedulesController, SensorsController],
  providers: [Heartbeats, SchedulesService, SensorKeys, SensorScanTarget, SensorsService],
  exports: [Heartbeats],
})
export class SensorsModule {}

/** The clock of the schedules and the ear for silent sensors, for processes that work in the background. */
@Module({
  imports: [RightsModule, SensorsModule],
  providers: [RunExecutor, RunExecutorSchedule, ScheduleClock, ScheduleStarter, ScheduleTicker, SensorSilenceSchedule],
})
export class SensorsWorkerModule {}
