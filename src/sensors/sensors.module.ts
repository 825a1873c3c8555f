import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { RightsModule } from '../auth/rights/rights.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { Heartbeats } from './heartbeats.service.js';
import { RunExecutor } from './schedules/run-executor.js';
import { ScheduleClock } from './schedules/schedule-clock.schedule.js';
import { ScheduleStarter } from './schedules/schedule-starter.js';
import { ScheduleTicker } from './schedules/schedule-ticker.js';
import { Schedule } from './schedules/schedule.entity.js';
import { SchedulesController } from './schedules/schedules.controller.js';
import { SchedulesService } from './schedules/schedules.service.js';
import { Sensor, SensorApiKey, SensorCommand } from './sensor.entity.js';
import { SensorKeys } from './sensor-keys.service.js';
import { SensorSilence } from './sensor-silence.service.js';
import { SensorsController } from './sensors.controller.js';
import { SensorScanTarget, SensorsService } from './sensors.service.js';

/** Sensors, and the schedules that start scans of them and of everything else. */
@Module({
  imports: [AuditModule, AuthModule, TypeOrmModule.forFeature([Schedule, Sensor, SensorApiKey, SensorCommand])],
  controllers: [SchedulesController, SensorsController],
  providers: [Heartbeats, SchedulesService, SensorKeys, SensorScanTarget, SensorsService],
})
export class SensorsModule {}

/** The background half: starts and executes scheduled runs, and reports silent sensors. */
@Module({
  imports: [RightsModule, SensorsModule],
  providers: [RunExecutor, ScheduleClock, ScheduleStarter, ScheduleTicker, SensorSilence],
})
export class SensorsWorkerModule {}
