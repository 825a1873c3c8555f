import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../access/access.js';
import type { Caller } from '../access/caller.js';
import { Repeatable } from '../access/repeatable.js';
import { IdParam } from '../platform/http/id-param.js';
import { NamedPageQuery } from '../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../platform/http/versions.js';
import type { IdempotentUse } from '../platform/http/idempotency-keys.js';
import { Heartbeats } from './heartbeats.service.js';
import {
  ChangeSensorBody,
  HeartbeatBody,
  NewSensorView,
  OrdersView,
  RegisterSensorBody,
  RenewSensorKeyBody,
  SensorPage,
  SensorView,
} from './sensors.dto.js';
import { SensorsService } from './sensors.service.js';

@ApiTags('Sensors')
@Controller('api/sensors')
@UseInterceptors(VersionInterceptor)
export class SensorsController {
  constructor(
    private readonly sensors: SensorsService,
    private readonly heartbeats: Heartbeats,
  ) {}

  /**
   * Register a sensor
   * @remarks Registers a sensor and returns its API key, which cannot be retrieved again.
   */
  @Post()
  @Needs('sensors:write')
  @Fresh()
  async registerSensor(
    @TheCaller() caller: Caller,
    @Body() body: RegisterSensorBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<NewSensorView> {
    const made = await this.sensors.register(caller, body.toOrder(), body.expiry, use);
    return NewSensorView.withKey(made.row, made.key);
  }

  /**
   * List sensors
   * @remarks Returns sensors, newest first.
   */
  @Get()
  @Needs('sensors:read')
  async listSensors(@Query() query: NamedPageQuery): Promise<SensorPage> {
    return SensorPage.of(await this.sensors.list(query));
  }

  /**
   * Report a heartbeat
   * @remarks Records a heartbeat and returns the sensor's configuration and pending commands.
   */
  @Post('heartbeat')
  @HttpCode(200)
  @Needs('sensors:report')
  async reportHeartbeat(@TheCaller() caller: Caller, @Body() body: HeartbeatBody): Promise<OrdersView> {
    return OrdersView.of(await this.heartbeats.beat(caller, body));
  }

  /**
   * Get a sensor
   * @remarks Returns a sensor.
   */
  @Get(':id')
  @Needs('sensors:read')
  async getSensor(@Param() { id }: IdParam): Promise<SensorView> {
    return SensorView.of(await this.sensors.get(id));
  }

  /**
   * Update a sensor
   * @remarks Changes a sensor and its configuration.
   */
  @Patch(':id')
  @Needs('sensors:write')
  @Fresh()
  async changeSensor(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeSensorBody,
    @ExpectedVersion() version: number,
  ): Promise<SensorView> {
    return SensorView.of(await this.sensors.change(caller, id, version, body.toChange()));
  }

  /**
   * Renew a sensor key
   * @remarks Returns a new API key. The previous key remains valid for a limited time. If the sensor is disabled, the call enables the sensor again.
   */
  @Post(':id/key')
  @Needs('sensors:write')
  @Fresh()
  async renewSensorKey(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { expiry, overlapHours = 24 }: RenewSensorKeyBody,
  ): Promise<NewSensorView> {
    const { row, key } = await this.sensors.renewKey(caller, id, expiry, overlapHours);
    return NewSensorView.withKey(row, key);
  }

  /**
   * Disable a sensor
   * @remarks Disables a sensor and revokes its keys within five seconds.
   */
  @Post(':id/disable')
  @HttpCode(200)
  @Needs('sensors:write')
  async disableSensor(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<SensorView> {
    return SensorView.of(await this.sensors.disable(caller, id));
  }

  /**
   * Delete a sensor
   * @remarks Deletes a sensor and revokes its keys. Assets that the sensor reported remain in the inventory.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('sensors:write')
  async removeSensor(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.sensors.remove(caller, id);
  }
}
