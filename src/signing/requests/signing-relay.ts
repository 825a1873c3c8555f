import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Outbox } from '../../platform/outbox/outbox.js';
import { JOB_SIGNAL_OPTIONS } from '../../platform/queue/queue-consumer.js';
import { MAX_PER_SIGNAL, type SigningSignal, SIGNING_QUEUE } from '../model/signing.queue.js';

/** Rings the doorbell for requests that were committed. */
@Injectable()
export class SigningRelay {
  constructor(@InjectQueue(SIGNING_QUEUE) queue: Queue<SigningSignal>, outbox: Outbox) {
    outbox.serve(SIGNING_QUEUE, async (requestIds) => {
      const signals = [];
      for (let at = 0; at < requestIds.length; at += MAX_PER_SIGNAL) {
        signals.push({ data: { requestIds: requestIds.slice(at, at + MAX_PER_SIGNAL) }, opts: JOB_SIGNAL_OPTIONS });
      }
      await queue.addBulk(signals);
    });
  }
}
