import type { EntityManager } from 'typeorm';

/** Locks a name until the end of the transaction. Waits while another transaction has it. */
export async function advisoryLock(tx: EntityManager, name: string): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
}
