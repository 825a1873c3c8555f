import { InjectQueue } from '@nestjs/bull';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bull';
import { RelayLoop } from '../../platform/outbox/relay-loop.js';
import { BELL_OPTIONS } from '../../platform/queue/bell.js';
import { type RotationBell, ROTATION_QUEUE } from './rotation.queue.js';

/** Rings the doorbell for targets that became due. */
@Injectable()
export class RotationRelay {
  constructor(@InjectQueue(ROTATION_QUEUE) queue: Queue<RotationBell>, relays: RelayLoop) {
    relays.serve(ROTATION_QUEUE, async (targetIds) => {
      await queue.add({ targetIds }, BELL_OPTIONS);
    });
  }
}
