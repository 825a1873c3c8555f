import { Injectable } from '@nestjs/common';
import { createHmac, randomBytes } from 'node:crypto';
import { LastingSeal } from '../../platform/sealing/lasting-seal.js';
import { SealedColumns } from '../../platform/sealing/sealed-columns.js';

const URL_SEAL = 'webhook url';
const SECRET_SEAL = 'webhook secret';

/** WebhookSecrets encrypts the confidential columns of an endpoint: its URL and its signing secret. */
@Injectable()
export class WebhookSecrets {
  constructor(
    private readonly seal: LastingSeal,
    columns: SealedColumns,
  ) {
    const [endpoint, oldSecret] = ['webhook_endpoint', 'webhook_old_secret'];
    columns.add(
      { table: endpoint, column: 'url', purpose: URL_SEAL, place: 't.id::text', seal },
      { table: endpoint, column: 'secret', purpose: SECRET_SEAL, place: 't.id::text', seal },
      { table: oldSecret, column: 'secret', purpose: SECRET_SEAL, place: 't.endpoint_id::text', seal },
    );
  }

  closeUrl(endpoint: string, url: string): Promise<Buffer> {
    return this.seal.close(URL_SEAL, endpoint, Buffer.from(url));
  }

  async openUrl(endpoint: string, sealed: Buffer): Promise<string> {
    return (await this.seal.open(URL_SEAL, endpoint, sealed)).toString();
  }

  closeSecret(endpoint: string, secret: string): Promise<Buffer> {
    return this.seal.close(SECRET_SEAL, endpoint, Buffer.from(secret));
  }

  async openSecret(endpoint: string, sealed: Buffer): Promise<string> {
    return (await this.seal.open(SECRET_SEAL, endpoint, sealed)).toString();
  }
}

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export interface SignedWebhook {
  /** ID of the delivery, identical for every attempt, so that receivers can detect duplicates. */
  readonly id: string;
  readonly at: Date;
  readonly body: string;
}

/** newWebhookSecret returns a new signing secret in the format of Standard Webhooks: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** webhookHeaders returns the signature headers of a message (Standard Webhooks, symmetric signatures), with one signature for each valid secret. */
export function webhookHeaders({ id, at, body }: SignedWebhook, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
