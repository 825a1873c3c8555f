import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { secretHashOf } from '../../model/secret-text.js';
import { SamlMessageMark } from '../sign-in/sso.entity.js';
import { Background } from '../../../platform/work/background.js';

/** Number of minutes for which records are kept: longer than the validity of any message, including clock skew. */
const MINUTES = 15;

/** SamlMessageMarks records logout messages that are waiting for a response or have been received. All processes share the records. */
@Injectable()
export class SamlMessageMarks {
  constructor(private readonly db: DataSource) {}

  async sent(providerId: string, id: string): Promise<void> {
    await this.mark(providerId, 'sent', id);
  }

  /** Reports whether this is the first response to a request of this service. */
  async isAnswer(providerId: string, id: string): Promise<boolean> {
    const sent = { providerId, direction: 'sent' as const, idHash: secretHashOf(id) };
    const { affected } = await this.db
      .createQueryBuilder()
      .delete()
      .from(SamlMessageMark)
      .where(sent)
      .andWhere('expiresAt > now()')
      .execute();
    return affected === 1;
  }

  /** Reports whether a message is received for the first time. For concurrent copies, only one call returns true. */
  async isFirst(providerId: string, id: string): Promise<boolean> {
    return this.mark(providerId, 'taken', id);
  }

  @Background({ name: 'expired-saml-messages', scope: 'cluster', every: 10 * 60_000 })
  async expire(): Promise<void> {
    await this.db.query(`DELETE FROM saml_message WHERE expires_at < now()`);
  }

  private async mark(providerId: string, direction: 'sent' | 'taken', id: string): Promise<boolean> {
    const added: unknown[] = await this.db.query(
      `INSERT INTO saml_message (provider_id, direction, id_hash, expires_at)
       VALUES ($1, $2, $3, now() + interval '${MINUTES} minutes') ON CONFLICT DO NOTHING RETURNING direction`,
      [providerId, direction, secretHashOf(id)],
    );
    return added.length === 1;
  }
}
