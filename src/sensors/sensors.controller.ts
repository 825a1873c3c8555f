import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../access/access.js';
import type { Caller } from '../access/caller.js';
import { Repeatable } from '../access/repeatable.js';
import { IdParam } from '../platform/http/id-param.js';
import { PageQuery } from '../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../platform/http/versions.js';
import type { IdempotentUse } from '../platform/idempotency/idempotency-keys.js';
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

  /** Registers a sensor. Its API key is in this answer and nowhere else. */
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

  /** Lists sensors, newest first. */
  @Get()
  @Needs('sensors:read')
  async listSensors(@Query() query: PageQuery): Promise<SensorPage> {
    return SensorPage.of(await this.sensors.list(query));
  }

  /** A sensor says that it is there, and hears what it is to do. */
  @Post('heartbeat')
  @HttpCode(200)
  @Needs('sensors:report')
  async reportHeartbeat(@TheCaller() caller: Caller, @Body() body: HeartbeatBody): Promise<OrdersView> {
    return OrdersView.of(await this.heartbeats.beat(caller, body));
  }

  /** Shows a sensor. */
  @Get(':id')
  @Needs('sensors:read')
  async getSensor(@Param() { id }: IdParam): Promise<SensorView> {
    return SensorView.of(await this.sensors.get(id));
  }

  /** Changes a sensor, its configuration above all. */
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

  /** Gives a sensor another key; the old one goes on for a while. A disabled sensor is enabled by it. */
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

  /** Disables a sensor and revokes its keys: within five seconds nothing of it is taken any more. */
  @Post(':id/disable')
  @HttpCode(200)
  @Needs('sensors:write')
  async disableSensor(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<SensorView> {
    return SensorView.of(await this.sensors.disable(caller, id));
  }

  /** Removes a sensor and revokes its keys; what it found stays in the inventory. */
  @Delete(':id')
  @HttpCode(204)
  @Needs('sensors:write')
  async removeSensor(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.sensors.remove(caller, id);
  }
}
