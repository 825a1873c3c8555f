import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { tellWitness } from './witness.js';

/** LogWitness sends checkpoints of the log to a witness that does not run on any of the service's machines. */
@Injectable()
export class LogWitness {
  private witnessedSize = 0;

  constructor(private readonly db: DataSource) {}

  /** Sends the newest checkpoint if this process has not sent it yet. Rejects unless the witness accepted the checkpoint. */
  async send(witness: string): Promise<void> {
    const [newest]: { size: string; note: string }[] = await this.db.query(
      `SELECT size, note FROM log_checkpoint ORDER BY size DESC LIMIT 1`,
    );
    if (newest === undefined || Number(newest.size) <= this.witnessedSize) return;
    await tellWitness(witness, { at: new Date().toISOString(), checkpoint: newest.note });
    this.witnessedSize = Number(newest.size);
  }
}
