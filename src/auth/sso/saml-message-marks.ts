import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { secretHashOf } from '../secrets/secret-text.js';
import { SamlMessageMark } from './saml-message-mark.entity.js';

/** Longer than any message is believed, with every skew of clocks. */
const MINUTES = 15;

/** Which messages wait for an answer, and which were taken already: for all processes together. */
@Injectable()
export class SamlMessageMarks {
  constructor(private readonly db: DataSource) {}

  async sent(providerId: string, id: string): Promise<void> {
    await this.mark(providerId, 'sent', id);
  }

  /** Whether this is the answer to something that was sent, the first one. */
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

  /** Whether a message comes for the first time; of ten at once one does. */
  async isFirst(providerId: string, id: string): Promise<boolean> {
    return this.mark(providerId, 'taken', id);
  }

  async expire(): Promise<void> {
    await this.db.query(`DELETE FROM saml_message WHERE expires_at < now()`);
  }

  private async mark(providerId: string, direction: SamlMessageMark['direction'], id: string): Promise<boolean> {
    const added: unknown[] = await this.db.query(
      `INSERT INTO saml_message (provider_id, direction, id_hash, expires_at)
       VALUES ($1, $2, $3, now() + interval '${MINUTES} minutes') ON CONFLICT DO NOTHING RETURNING direction`,
      [providerId, direction, secretHashOf(id)],
    );
    return added.length === 1;
  }
}
