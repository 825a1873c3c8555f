import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { networkReason, OutboundClient, type OutboundAnswer } from '../../platform/outbound/outbound-client.js';
import { afterAttempt } from './webhook-outcome.js';
import { type ClaimedDelivery, DUE_DELIVERY, WebhookDeliveryRepository } from './webhook-delivery.repository.js';
import { WebhookSecrets, webhookHeaders } from './webhook-secrets.js';
import { Background } from '../../platform/work/background.js';
import { BackgroundJobs } from '../../platform/work/background-jobs.js';

const JOB = 'webhooks';
const TIMEOUT_MS = 15_000;

/**
 * WebhookSender sends the pending messages of webhook endpoints. Each endpoint has its own batch, so that an endpoint that does not respond does not delay
 * other endpoints. A message may arrive twice with the same `webhook-id`, but is never lost.
 */
@Injectable()
export class WebhookSender implements BeforeApplicationShutdown {
  private readonly logger = new Logger(WebhookSender.name);
  /** Batches in progress, by endpoint. */
  private readonly busy = new Map<string, Promise<void>>();

  constructor(
    private readonly repository: WebhookDeliveryRepository,
    private readonly client: OutboundClient,
    private readonly secrets: WebhookSecrets,
    private readonly jobs: BackgroundJobs,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.busy.values());
  }

  @Background({ name: JOB, scope: 'process', due: DUE_DELIVERY })
  async startBatches(): Promise<void> {
    const claimed = await this.repository.claim([...this.busy.keys()]);
    for (const [endpoint, batch] of Map.groupBy(claimed, ({ endpointId }) => endpointId)) {
      const all = Promise.all(batch.map((delivery) => this.deliver(delivery)));
      const done = all.then(
        () => undefined,
        (error: unknown) => this.logger.warn(`unable to store the outcomes of webhooks: ${String(error)}`),
      );
      this.busy.set(
        endpoint,
        done.finally(() => {
          this.busy.delete(endpoint);
          this.jobs.wake(JOB);
        }),
      );
    }
  }

  private async deliver(delivery: ClaimedDelivery): Promise<void> {
    const began = performance.now();
    const at = new Date();
    const tried = await this.post(delivery, at).catch((error: unknown) => new Error(networkReason(error)));
    const milliseconds = Math.round(performance.now() - began);
    const outcome = afterAttempt(tried, delivery.tries);
    const { attempt } = delivery;
    const entry = { attempt, at: at.toISOString(), milliseconds, status: outcome.httpStatus, failure: outcome.failure };
    await this.repository.settle(delivery, outcome, entry);
    if (outcome.gone) await this.repository.disable(delivery.endpointId, 'The receiver responded with 410 Gone.');
  }

  private async post(delivery: ClaimedDelivery, at: Date): Promise<OutboundAnswer> {
    const { id, endpointId, body } = delivery;
    const secrets = await Promise.all(delivery.secrets.map((sealed) => this.secrets.openSecret(endpointId, sealed)));
    return this.client.send({
      method: 'POST',
      url: await this.secrets.openUrl(endpointId, delivery.url),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Sealwright',
        ...(secrets.length === 0 ? {} : webhookHeaders({ id, at, body }, secrets)),
      },
      body,
      timeoutMs: TIMEOUT_MS,
    });
  }
}
