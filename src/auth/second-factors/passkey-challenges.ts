import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { secretHashOf } from '../secrets/secret-text.js';
import { PasskeyChallenge } from './passkey-challenge.entity.js';

/** Challenges that were sent out and not answered yet. */
@Injectable()
export class PasskeyChallenges {
  constructor(private readonly db: DataSource) {}

  async sent(userId: string, purpose: PasskeyChallenge['purpose'], challenge: string): Promise<void> {
    await this.db.query(`DELETE FROM passkey_challenge WHERE expires_at < now()`);
    await this.db.manager.insert(PasskeyChallenge, {
      hash: secretHashOf(challenge),
      userId,
      purpose,
      expiresAt: () => `now() + interval '5 minutes'`,
    });
  }

  /** Uses a challenge up; of ten answers that come at once, one is looked at. */
  async take(userId: string, purpose: PasskeyChallenge['purpose'], challenge: string): Promise<boolean> {
    const [taken]: [unknown[], number] = await this.db.query(
      `DELETE FROM passkey_challenge WHERE hash = $1 AND user_id = $2 AND purpose = $3 AND expires_at > now() RETURNING hash`,
      [secretHashOf(challenge), userId, purpose],
    );
    return taken.length === 1;
  }
}
