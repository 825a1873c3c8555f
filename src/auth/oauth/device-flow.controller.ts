import { Controller, Get, Header, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fresh, Public, Person, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { DevicePageQuery, UserCodeParam, WaitingDeviceView } from './oauth.dto.js';
import { DeviceFlowService } from './device-flow.service.js';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const page = (name: string) => readFileSync(join(import.meta.dirname, 'public', name), 'utf8');

@ApiTags('Authentication')
@Controller()
export class DeviceFlowController {
  constructor(private readonly devices: DeviceFlowService) {}

  /**
   * Get a pending device
   * @remarks Returns the client and the scopes requested by the device that displays this code.
   */
  @Get('api/auth/device/:userCode')
  @Person()
  async getWaitingDevice(
    @TheCaller() caller: Caller,
    @Param() { userCode }: UserCodeParam,
  ): Promise<WaitingDeviceView> {
    const { clientName: client, scopes, expiresAt } = await this.devices.find(caller, userCode);
    return { client, scopes, expiresAt };
  }

  /**
   * Approve a device
   * @remarks Allows the device to act on your behalf. Operations that require a step-up also require a step-up on the device (`POST /api/auth/step-up`).
   */
  @Post('api/auth/device/:userCode/approve')
  @HttpCode(204)
  @Person()
  @Fresh()
  async approveDevice(@TheCaller() caller: Caller, @Param() { userCode }: UserCodeParam): Promise<void> {
    await this.devices.decide(caller, userCode, 'APPROVED');
  }

  /**
   * Deny a device
   * @remarks Denies the device authorization request.
   */
  @Post('api/auth/device/:userCode/deny')
  @HttpCode(204)
  @Person()
  async denyDevice(@TheCaller() caller: Caller, @Param() { userCode }: UserCodeParam): Promise<void> {
    await this.devices.decide(caller, userCode, 'DENIED');
  }

  @Get('device')
  @ApiExcludeEndpoint()
  @Public()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', POLICY)
  page(@Query() _query: DevicePageQuery): string {
    return page('device.html');
  }

  @Get('device/device.js')
  @ApiExcludeEndpoint()
  @Public()
  @Header('content-type', 'text/javascript; charset=utf-8')
  script(): string {
    return page('device.js');
  }

  @Get('device/device.css')
  @ApiExcludeEndpoint()
  @Public()
  @Header('content-type', 'text/css; charset=utf-8')
  style(): string {
    return page('device.css');
  }
}
