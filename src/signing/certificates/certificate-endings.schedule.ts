import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { CertificateEndings } from './certificate-endings.service.js';

const EVERY_MS = 600_000;

@Injectable()
export class CertificateEndingsSchedule implements OnApplicationBootstrap {
  private readonly logger = new Logger(CertificateEndingsSchedule.name);

  constructor(private readonly endings: CertificateEndings) {}

  /** Also at once, for what came near its end while nobody looked. */
  async onApplicationBootstrap(): Promise<void> {
    await this.look();
  }

  @Interval(EVERY_MS)
  async look(): Promise<void> {
    await this.endings
      .recordEvents()
      .catch((error: unknown) => this.logger.warn(`certificates of signing keys were not looked at: ${String(error)}`));
  }
}
