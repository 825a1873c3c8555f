import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { DataSource } from 'typeorm';
import { KeyVault } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { newId } from '../../platform/database/new-id.js';
import { type Checkpoint, noteText, signedNote } from '../../verifier/signed-note.js';
import type { LogKey } from './log-key.entity.js';

const TYPE = 'ec-p256';

export type MadeLogKey = Omit<LogKey, 'publicKey'> & { readonly publicKey: Buffer };

/** The key of the log: made in the HSM at the first checkpoint, and used for nothing that a caller chooses. */
@Injectable()
export class LogKeys {
  private known: MadeLogKey | undefined;

  constructor(
    private readonly db: DataSource,
    private readonly vault: KeyVault,
    private readonly config: Config,
  ) {}

  async current(): Promise<MadeLogKey | undefined> {
    this.known ??= await this.read();
    return this.known;
  }

  /** The key, made now if there is none. For the one process that holds the sequencer's lock. */
  async ensured(): Promise<MadeLogKey> {
    const there = await this.current();
    if (there !== undefined) return there;
    const id = newId();
    const ckaId = Buffer.from(id.replaceAll('-', ''), 'hex');
    const { host } = new URL(this.config.publicUrl);
    // Outside of the sequencer's transaction: the row must be there before the HSM makes the key, whatever happens then.
    await this.db.query(`INSERT INTO log_key (id, cka_id, origin) VALUES ($1, $2, $3)`, [id, ckaId, `${host}/log`]);
    const { publicKey, evidence } = await this.vault.generate({ ckaId, label: 'sealwright-log', type: TYPE });
    await this.db.query(`UPDATE log_key SET public_key = $2, evidence = $3 WHERE id = $1 AND public_key IS NULL`, [
      id,
      publicKey,
      JSON.stringify(evidence),
    ]);
    const made = await this.current();
    if (made === undefined) throw new Error('the key of the log is gone');
    return made;
  }

  async signed(checkpoint: Checkpoint, { ckaId, publicKey }: MadeLogKey): Promise<string> {
    const digest = createHash('sha256').update(noteText(checkpoint)).digest();
    const key = { ckaId, publicKey, type: TYPE } as const;
    const signature = await this.vault.sign({ key, scheme: 'ecdsa-der', algorithm: 'sha256', digest });
    return signedNote(checkpoint, signature, publicKey);
  }

  private async read(): Promise<MadeLogKey | undefined> {
    const [row]: MadeLogKey[] = await this.db.query(
      `SELECT id, cka_id AS "ckaId", origin, public_key AS "publicKey", evidence, created_at AS "createdAt"
       FROM log_key WHERE public_key IS NOT NULL ORDER BY id DESC LIMIT 1`,
    );
    return row;
  }
}
