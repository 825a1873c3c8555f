import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { RelayLoop } from '../../platform/outbox/relay-loop.js';
import { BELL_OPTIONS } from '../../platform/queue/bell.js';
import { MAX_PER_BELL, type SigningBell, SIGNING_QUEUE } from './signing.queue.js';

/** Rings the doorbell for requests that were committed. */
@Injectable()
export class SigningRelay {
  constructor(@InjectQueue(SIGNING_QUEUE) queue: Queue<SigningBell>, relays: RelayLoop) {
    relays.serve(SIGNING_QUEUE, async (requestIds) => {
      const bells = [];
      for (let at = 0; at < requestIds.length; at += MAX_PER_BELL) {
        bells.push({ data: { requestIds: requestIds.slice(at, at + MAX_PER_BELL) }, opts: BELL_OPTIONS });
      }
      await queue.addBulk(bells);
    });
  }
}
