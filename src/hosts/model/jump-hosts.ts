import type { EntityManager } from 'typeorm';
import { Problem } from '../../platform/errors/problem.js';
import type { Host } from './host.entity.js';

/** MAX_JUMPS is the maximum number of jump hosts on a route. */
export const MAX_JUMPS = 3;

/** assertJumpHost throws Problem if the jump host does not exist, is itself reached through the host, or makes the route too long. */
export async function assertJumpHost(tx: EntityManager, hostId: string, jumpHostId: string): Promise<void> {
  // The row lock prevents the removal of the jump host before this change is committed.
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
      ? 'does not exist'
      : way.some(({ id }) => id === hostId)
        ? 'leads back to the host itself'
        : way.length > MAX_JUMPS
          ? `is reached through more than ${MAX_JUMPS} jump hosts`
          : undefined;
  if (detail === undefined) return;
  const errors = [{ pointer: '/jumpHostId', detail }];
  throw new Problem('refused', 'host.jump-host', `/jumpHostId: ${detail}.`, { errors });
}

/** Hop is one machine on a route, as recorded in the database. */
export type Hop = Pick<Host, 'id' | 'address' | 'port'>;

/** Destination is the route for which a credential is sealed: the jump hosts in connection order, then the host. */
export type Destination = readonly [...jumps: Hop[], host: Hop];

/** Returns the canonical text representation of a destination, to which the credential's seal is bound. */
export function destinationText(destination: Destination): string {
  return JSON.stringify(destination.map(({ id, address, port }) => [id, address, port]));
}

/** Reads the route to a host. With `lock`, the jump hosts cannot be changed until the transaction ends. */
export async function destinationOf(
  tx: EntityManager,
  { id, address, port, jumpHostId }: Hop & Pick<Host, 'jumpHostId'>,
  { lock = false } = {},
): Promise<Destination> {
  const read = (): Promise<Hop[]> => tx.query(ROUTE, [jumpHostId, MAX_JUMPS]);
  let jumps = jumpHostId === null ? [] : await read();
  if (lock && jumps.length > 0) {
    const ids = jumps.map((hop) => hop.id);
    await tx.query('SELECT 1 FROM host WHERE id = ANY($1::uuid[]) ORDER BY id FOR KEY SHARE', [ids]);
    jumps = await read();
  }
  return [...jumps, { id, address, port }];
}

const ROUTE = `WITH RECURSIVE way (id, address, port, jump_host_id, step) AS (
    SELECT id, address, port, jump_host_id, 1 FROM host WHERE id = $1
    UNION ALL
    SELECT h.id, h.address, h.port, h.jump_host_id, step + 1 FROM host h JOIN way ON h.id = way.jump_host_id WHERE step <= $2
  ) SELECT id, address, port FROM way ORDER BY step DESC`;
