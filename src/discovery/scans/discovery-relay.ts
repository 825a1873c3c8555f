import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Outbox } from '../../platform/outbox/outbox.js';
import { JOB_SIGNAL_OPTIONS } from '../../platform/queue/queue-consumer.js';
import { type DiscoverySignal, DISCOVERY_QUEUE } from './discovery.queue.js';

/** Rings the doorbell for scans that were committed. */
@Injectable()
export class DiscoveryRelay {
  constructor(@InjectQueue(DISCOVERY_QUEUE) queue: Queue<DiscoverySignal>, outbox: Outbox) {
    outbox.serve(DISCOVERY_QUEUE, async (scanIds) => {
      await queue.addBulk(scanIds.map((id) => ({ data: { scanIds: [id] }, opts: JOB_SIGNAL_OPTIONS })));
    });
  }
}
