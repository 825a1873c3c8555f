import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { SshCertificateSigner } from './ssh-certificate-signer.js';

/** Signs certificates that were accepted or approved and whose process died before they were signed. */
@Injectable()
export class SshCertificatesSchedule {
  private readonly logger = new Logger(SshCertificatesSchedule.name);
  private readonly sweeps = new SingleFlight((error) =>
    this.logger.warn(`SSH certificates were not looked at: ${String(error)}`),
  );

  constructor(private readonly signer: SshCertificateSigner) {}

  @Interval(5000)
  sweep(): Promise<void> {
    return this.sweeps.run(() => this.signer.sweep());
  }
}
