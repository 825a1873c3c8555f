import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { allHoldNow } from '../../auth/rights/credential-rights.js';
import { WebhookDeliveryRepository } from '../../notifications/webhooks/webhook-delivery.repository.js';
import { Background } from '../../platform/work/background.js';

const EVERY_MS = 2000;
const REASON = 'The owner no longer has the permission "webhooks:write". Enable the endpoint to become its owner.';

/** WebhookOwners disables the endpoints of people, keys and clients that may no longer manage webhooks, and discards their pending messages. */
@Injectable()
export class WebhookOwners {
  constructor(
    private readonly db: DataSource,
    private readonly deliveries: WebhookDeliveryRepository,
  ) {}

  @Background({ name: 'webhook-owners', scope: 'process', every: EVERY_MS, first: 0 })
  async disableAbandoned(): Promise<void> {
    const owned: { id: string; givers: string[] }[] = await this.db.query(
      `SELECT id, givers FROM webhook_endpoint WHERE enabled AND givers IS NOT NULL ORDER BY id`,
    );
    for (const { id, givers } of owned)
      if (!(await allHoldNow(this.db.manager, givers, ['webhooks:write']))) await this.deliveries.disable(id, REASON);
  }
}
