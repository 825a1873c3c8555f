import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { Outbox } from '../../platform/outbox/outbox.js';
import { JOB_SIGNAL_OPTIONS } from '../../platform/queue/queue-consumer.js';
import { type RotationSignal, ROTATION_QUEUE } from './rotation.queue.js';

/** Rings the doorbell for targets that became due. */
@Injectable()
export class RotationRelay {
  constructor(@InjectQueue(ROTATION_QUEUE) queue: Queue<RotationSignal>, outbox: Outbox) {
    outbox.serve(ROTATION_QUEUE, async (targetIds) => {
      await queue.add({ targetIds }, JOB_SIGNAL_OPTIONS);
    });
  }
}
