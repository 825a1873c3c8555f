import { getQueueToken } from '@nestjs/bull';
import type { FactoryProvider } from '@nestjs/common';
import type { JobOptions, Queue } from 'bull';
import { Outbox } from '../outbox/outbox.js';

/**
 * Attempts and retries are managed in rows, so Bull makes one attempt and keeps nothing. There is no Bull timeout, because it fails the job while the handler
 * continues to run.
 */
const OPTIONS: JobOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true };

/**
 * signalRelay returns a provider that passes committed signals of a topic from the outbox to the queue of the same name.
 *
 * @param max maximum number of IDs per signal
 * @param priorityOf priority of a signal in Bull, which processes smaller numbers first; 0, the default, is none
 */
export function signalRelay(
  topic: string,
  max: number,
  signalOf: (ids: string[]) => object,
  priorityOf: (ids: string[]) => number = () => 0,
): FactoryProvider<void> {
  return {
    provide: `relay of ${topic}`,
    inject: [getQueueToken(topic), Outbox],
    useFactory: (queue: Queue<object>, outbox: Outbox) =>
      outbox.serve(topic, async (ids) => {
        const signals = [];
        for (let at = 0; at < ids.length; at += max) {
          const some = ids.slice(at, at + max);
          signals.push({ data: signalOf(some), opts: { ...OPTIONS, priority: priorityOf(some) } });
        }
        await queue.addBulk(signals);
      }),
  };
}
