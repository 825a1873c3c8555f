import type { EntityManager } from 'typeorm';

const LOCK = `hashtextextended('inventory.verdicts', 0)`;

/**
 * Whoever counts assets by what their verdicts say holds the verdicts to the end of the transaction, from before the first look at them:
 * what is counted under one verdict would otherwise be taken off under another.
 */
export async function holdVerdicts(tx: EntityManager): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${LOCK})`);
}

/** Waits for all who hold them, and keeps others waiting to the end of the transaction. */
export async function holdVerdictsAlone(tx: EntityManager): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${LOCK})`);
}
