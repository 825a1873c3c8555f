import type { EntityManager } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';

/** Hosts that a connection may go through on its way. */
export const MAX_JUMPS = 3;

/** Refuses a jump host that is not there, that would lead back to the host itself, or that makes the way too long. */
export async function assertJumpHost(tx: EntityManager, hostId: string, jumpHostId: string): Promise<void> {
  // Held, so that it cannot be removed before this change is committed.
  await tx.query('SELECT id FROM host WHERE id = $1 FOR KEY SHARE', [jumpHostId]);
  const way: { id: string }[] = await tx.query(
    `WITH RECURSIVE way (id, jump_host_id, step) AS (
       SELECT id, jump_host_id, 1 FROM host WHERE id = $1
       UNION ALL
       SELECT host.id, host.jump_host_id, step + 1 FROM host JOIN way ON host.id = way.jump_host_id WHERE step <= $2
     ) SELECT id FROM way`,
    [jumpHostId, MAX_JUMPS],
  );
  const detail =
    way.length === 0
      ? 'is no host'
      : way.some(({ id }) => id === hostId)
        ? 'leads back to the host itself'
        : way.length > MAX_JUMPS
          ? `is the end of a way through more than ${MAX_JUMPS} hosts`
          : undefined;
  if (detail === undefined) return;
  const errors = [{ pointer: '/jumpHostId', detail }];
  throw new Problem('refused', 'host.jump-host', `/jumpHostId: ${detail}.`, { errors });
}
