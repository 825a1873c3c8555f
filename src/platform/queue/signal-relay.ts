import { getQueueToken } from '@nestjs/bull';
import type { FactoryProvider } from '@nestjs/common';
import type { JobOptions, Queue } from 'bull';
import { Outbox } from './outbox.js';

/**
 * Attempts and retries are managed in rows, so Bull makes one attempt and keeps no finished jobs. No Bull timeout is set, because a timeout would fail the
 * job while the handler continues to run.
 */
const OPTIONS: JobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true };
/** Maximum number of IDs in a priority signal. Larger signals come from batches; the sweep finds jobs that have waited too long. */
const MAX_SMALL = 16;

/**
 * signalRelay returns a provider that passes committed signals of a topic from the outbox to the queue of the same name.
 *
 * @param max maximum number of IDs per signal
 */
export function signalRelay(topic: string, max: number, signalOf: (ids: string[]) => object): FactoryProvider<void> {
  return {
    provide: `relay of ${topic}`,
    inject: [getQueueToken(topic), Outbox],
    useFactory: (queue: Queue<object>, outbox: Outbox) =>
      outbox.serve(topic, async (ids) => {
        const signals = [];
        for (let at = 0; at < ids.length; at += max) {
          const some = ids.slice(at, at + max);
          // Bull takes smaller numbers first, so that single jobs do not wait behind batches of other callers.
          signals.push({ data: signalOf(some), opts: { ...OPTIONS, priority: some.length > MAX_SMALL ? 2 : 1 } });
        }
        await queue.addBulk(signals);
      }),
  };
}
