import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { EventBus } from '../../platform/events/events.js';
import type { SshKeysFound } from '../../platform/events/ssh-key-events.js';
import { RotationDrift } from '../rotation/rotation-drift.js';
import { SshKeySightings } from './ssh-key-sightings.js';

/** Hears of keys that scans found. What is lost in a crash is found again by the next scan. */
@Injectable()
export class FoundKeysListener implements OnModuleInit {
  private readonly logger = new Logger(FoundKeysListener.name);

  constructor(
    private readonly events: EventBus,
    private readonly sightings: SshKeySightings,
    private readonly drift: RotationDrift,
  ) {}

  onModuleInit(): void {
    this.events.on('discovery.ssh-keys-found', (found) => {
      void this.take(found).catch((error: unknown) =>
        this.logger.error(`keys of scan ${found.scanId} were not recorded: ${String(error)}`),
      );
    });
  }

  private async take(found: SshKeysFound): Promise<void> {
    await this.sightings.record(found);
    await this.drift.look(found.hostId, found.seenAt);
  }
}
