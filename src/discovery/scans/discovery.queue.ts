import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Outbox } from '../../platform/outbox/outbox.js';
import { JOB_SIGNAL_OPTIONS } from '../../platform/queue/queue-consumer.js';

export const DISCOVERY_QUEUE = 'discovery';

/** Signal that these scans are queued. Which ones are due is read from the rows. */
export interface DiscoverySignal {
  readonly scanIds: string[];
}

/** Passes committed signals from the outbox to the queue. */
@Injectable()
export class DiscoveryRelay {
  constructor(@InjectQueue(DISCOVERY_QUEUE) queue: Queue<DiscoverySignal>, outbox: Outbox) {
    outbox.serve(DISCOVERY_QUEUE, async (scanIds) => {
      await queue.addBulk(scanIds.map((id) => ({ data: { scanIds: [id] }, opts: JOB_SIGNAL_OPTIONS })));
    });
  }
}
