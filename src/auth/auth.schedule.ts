import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { DeviceFlowService } from './oauth/device-flow.service.js';
import { SessionCallers } from './sessions/session-callers.js';
import { SessionsService } from './sessions/sessions.service.js';
import { Throttle } from './throttle/throttle.js';

@Injectable()
export class AuthSchedule {
  private readonly logger = new Logger(AuthSchedule.name);

  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly callers: SessionCallers,
    private readonly sessions: SessionsService,
    private readonly devices: DeviceFlowService,
    private readonly throttle: Throttle,
  ) {}

  @Interval(10_000)
  async storeLastUse(): Promise<void> {
    await this.attempt('last use was not stored', () =>
      Promise.all([this.apiKeys.storeLastUse(), this.callers.storeLastUse()]),
    );
  }

  @Interval(15 * 60_000)
  async expire(): Promise<void> {
    await this.attempt('what is over stays a while longer', () =>
      Promise.all([this.sessions.expire(), this.devices.expire(), this.throttle.expire()]),
    );
  }

  private async attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    await work().catch((error: unknown) => this.logger.warn(`${what}: ${String(error)}`));
  }
}
