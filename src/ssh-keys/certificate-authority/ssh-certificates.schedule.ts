import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SshCertificateSigner } from './ssh-certificate-signer.js';

/** Signs certificates that were accepted or approved and whose process died before they were signed. */
@Injectable()
export class SshCertificatesSchedule {
  private readonly logger = new Logger(SshCertificatesSchedule.name);
  private running = false;

  constructor(private readonly signer: SshCertificateSigner) {}

  @Interval(5000)
  async sweep(): Promise<void> {
    if (this.running) return;
    this.running = true;
    await this.signer
      .sweep()
      .catch((error: unknown) => this.logger.warn(`SSH certificates were not looked at: ${String(error)}`));
    this.running = false;
  }
}
