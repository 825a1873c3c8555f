import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module.js';
import { AuthModule } from '../auth/auth.module.js';
import { Heartbeats } from './heartbeats.service.js';
import { Sensor, SensorApiKey, SensorCommand } from './sensor.entity.js';
import { SensorKeys } from './sensor-keys.service.js';
import { SensorSilence } from './sensor-silence.service.js';
import { SensorsController } from './sensors.controller.js';
import { SensorScanTarget, SensorsService } from './sensors.service.js';

/** SensorsModule manages sensors, and the scans that users and schedules request. */
@Module({
  imports: [AuditModule, AuthModule, TypeOrmModule.forFeature([Sensor, SensorApiKey, SensorCommand])],
  controllers: [SensorsController],
  providers: [Heartbeats, SensorKeys, SensorScanTarget, SensorsService],
})
export class SensorsModule {}

/** SensorsWorkerModule reports silent sensors in the background. */
@Module({ imports: [SensorsModule], providers: [SensorSilence] })
export class SensorsWorkerModule {}
