import { type EntityManager, LessThanOrEqual } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { WebhookOldSecret } from '../../platform/outbound/webhook-old-secret.entity.js';

/** Each signs every message. */
const MAX_OLD = 4;
const HOUR_MS = 3_600_000;

/**
 * Has the secret that was in force, sealed, sign on for some hours, beside those before it. With no hours all of them end.
 *
 * @throws Problem 409 `webhook.secrets` when there are too many.
 */
export async function keepOldSecret(
  tx: EntityManager,
  endpointId: string,
  secret: Buffer,
  hours: number,
): Promise<void> {
  const now = Date.now();
  await tx.delete(
    WebhookOldSecret,
    hours === 0 ? { endpointId } : { endpointId, until: LessThanOrEqual(new Date(now)) },
  );
  if (hours === 0) return;
  const old = await tx.find(WebhookOldSecret, { where: { endpointId }, order: { until: 'ASC' } });
  const [first] = old;
  if (first !== undefined && old.length >= MAX_OLD) {
    const detail = `${MAX_OLD} old secrets sign as well, the first of them until ${first.until.toISOString()}; overlapHours 0 ends them all at once.`;
    throw new Problem('conflict', 'webhook.secrets', detail);
  }
  await tx.insert(WebhookOldSecret, { id: newId(), endpointId, secret, until: new Date(now + hours * HOUR_MS) });
}
