import { Column, Entity, type EntityManager, PrimaryColumn } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';

/** A restore of this database. `restore run` writes the row in the transaction of the restore (src/cli/restore/restore-backup.ts). */
@Entity('restored_database')
export class RestoredDatabase {
  @PrimaryColumn('uuid')
  id: string;

  /** Name of the backup. */
  @Column('text')
  backup: string;

  @Column('timestamptz')
  madeAt: Date;

  @Column('timestamptz', { default: () => 'now()' })
  restoredAt: Date;

  /** Time at which an operator accepted the restore. While the time is null, no process serves the database. */
  @Column('timestamptz', { nullable: true })
  acceptedAt: Date | null;
}

/**
 * Detects that a database was restored from a backup. The token reveals a restore only if the token is newer than the backup. If the database and the token
 * were both restored, they match, and neither contains later events.
 */
export class RestoredDatabases {
  /** Returns the newest restore that has not been accepted. */
  async open(tx: EntityManager): Promise<Pick<RestoredDatabase, 'backup' | 'madeAt'> | undefined> {
    const [row]: { backup: string; madeAt: Date }[] = await tx.query(
      `SELECT backup, made_at AS "madeAt" FROM restored_database WHERE accepted_at IS NULL ORDER BY restored_at DESC LIMIT 1`,
    );
    return row;
  }

  /** Puts the database into restore mode: processes started from now on do not serve the database. */
  async hold(tx: EntityManager, { backup, madeAt }: Pick<RestoredDatabase, 'backup' | 'madeAt'>): Promise<void> {
    await tx.query(`INSERT INTO restored_database (id, backup, made_at) VALUES ($1, $2, $3)`, [
      newId(),
      backup,
      madeAt,
    ]);
  }

  /** Marks every restore as accepted. @returns the names of the backups */
  async accept(tx: EntityManager): Promise<string[]> {
    const [rows]: [{ backup: string }[], number] = await tx.query(
      `UPDATE restored_database SET accepted_at = now() WHERE accepted_at IS NULL RETURNING backup`,
    );
    return rows.map(({ backup }) => backup);
  }
}
