import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { DeviceFlowService } from './oauth/device-flow.service.js';
import { SessionCallers } from './sessions/session-callers.js';
import { SessionsService } from './sessions/sessions.service.js';
import { Throttle } from './throttle/throttle.js';
import { ApiKeyRenewalService } from './api-keys/api-key-renewal.service.js';
import { SamlMessageMarks } from './sso/saml/saml-message-marks.js';
import { UsedProofs } from './possession/used-proofs.repository.js';
import { SsoTransactions } from './sso/sign-in/sso-transactions.js';
import { WorkloadExchangeService } from './workload/workload-exchange.service.js';

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
    await this.attempt('expired sign-in data was not removed', () =>
      Promise.all([this.sessions.expire(), this.devices.expire(), this.throttle.expire()]),
    );
  }

  private async attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    await work().catch((error: unknown) => this.logger.warn(`${what}: ${String(error)}`));
  }
}

const EVERY_MS = 10_000;

@Injectable()
export class RenewalSchedule {
  private readonly logger = new Logger(RenewalSchedule.name);

  constructor(private readonly renewal: ApiKeyRenewalService) {}

  @Interval(EVERY_MS)
  async warn(): Promise<void> {
    await this.renewal
      .warn()
      .catch((error: unknown) =>
        this.logger.warn(`warnings about expiring API keys were not queued: ${String(error)}`),
      );
  }
}

@Injectable()
export class SsoSchedule {
  private readonly logger = new Logger(SsoSchedule.name);

  constructor(
    private readonly transactions: SsoTransactions,
    private readonly marks: SamlMessageMarks,
  ) {}

  @Interval(10 * 60_000)
  async expire(): Promise<void> {
    await Promise.all([this.transactions.expire(), this.marks.expire()]).catch((error: unknown) =>
      this.logger.warn(`expired single sign-on attempts were not removed: ${String(error)}`),
    );
  }
}

@Injectable()
export class UsedOnceSchedule {
  private readonly logger = new Logger(UsedOnceSchedule.name);

  constructor(
    private readonly workloads: WorkloadExchangeService,
    private readonly proofs: UsedProofs,
  ) {}

  @Interval(15 * 60_000)
  async expire(): Promise<void> {
    await Promise.all([this.workloads.expire(), this.proofs.expire()]).catch((error: unknown) =>
      this.logger.warn(`records of used tokens and proofs were not removed: ${String(error)}`),
    );
  }
}
