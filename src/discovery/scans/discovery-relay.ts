import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { RelayLoop } from '../../platform/outbox/relay-loop.js';
import { BELL_OPTIONS } from '../../platform/queue/bell.js';
import { type DiscoveryBell, DISCOVERY_QUEUE } from './discovery.queue.js';

/** Rings the doorbell for scans that were committed. */
@Injectable()
export class DiscoveryRelay {
  constructor(@InjectQueue(DISCOVERY_QUEUE) queue: Queue<DiscoveryBell>, relays: RelayLoop) {
    relays.serve(DISCOVERY_QUEUE, async (scanIds) => {
      await queue.addBulk(scanIds.map((id) => ({ data: { scanIds: [id] }, opts: BELL_OPTIONS })));
    });
  }
}
