import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type AlertEvent, recordAlertEvents } from '../../platform/events/alert-events.js';
import { Background } from '../../platform/work/background.js';

const CHECK_EVERY_MS = 600_000;
/** Maximum lead time of alert rules, in days. */
const MAX_DAYS_LEFT = 365;

interface Ending {
  readonly id: string;
  readonly subject: string;
  readonly notAfter: Date;
  /** Name of the signing key; null for an external certificate. */
  readonly key: string | null;
  /** True if a newer certificate has replaced the certificate, or if its key can no longer sign. */
  readonly over: boolean;
  readonly daysLeft: number;
}

/**
 * SigningCertificateEndings records an alert event for each onboarded certificate that is about to expire. Recording the same certificate again has no
 * effect.
 */
@Injectable()
export class SigningCertificateEndings {
  constructor(private readonly db: DataSource) {}

  /** Records the alert events of all certificates. Also runs when a process starts, for certificates that came close to expiry while no worker was running. */
  @Background({ name: 'signing-certificates', scope: 'process', every: CHECK_EVERY_MS, first: 0 })
  async recordEvents(): Promise<void> {
    await this.db.transaction(async (tx) => {
      const ending: Ending[] = await tx.query(
        `SELECT c.id, c.subject, c.not_after AS "notAfter", k.name AS key,
           c.key_id IS NOT NULL AND (k.id IS NULL OR k.state <> 'ACTIVE' OR k.version <> c.key_version
             OR EXISTS (SELECT FROM certificate n WHERE n.key_id = c.key_id AND n.key_version = c.key_version AND n.not_after > c.not_after)) AS over,
           floor(extract(epoch FROM c.not_after - now()) / 86400)::int AS "daysLeft"
         FROM certificate c LEFT JOIN signing_key k ON k.id = c.key_id
         WHERE c.not_after > now() AND c.not_after <= now() + make_interval(days => $1) ORDER BY c.not_after LIMIT 1000`,
        [MAX_DAYS_LEFT],
      );
      await recordAlertEvents(tx, ending.map(alertEventOf));
    });
  }
}

function alertEventOf({ id, subject, notAfter, key, over, daysLeft }: Ending): AlertEvent {
  const days = `${daysLeft} ${daysLeft === 1 ? 'day' : 'days'}`;
  const facts = {
    why: `The certificate expires at ${notAfter.toISOString()}, in ${days}.`,
    daysLeft,
    ...(key === null ? {} : { where: `signing key ${key}` }),
  };
  return { type: 'certificate.ending', subject: { kind: 'certificate', id, name: subject }, facts, over };
}
