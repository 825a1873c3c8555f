import type { EntityManager } from 'typeorm';
import type { Host } from '../model/host.entity.js';
import { MAX_JUMPS } from '../model/jump-hosts.js';

/** One machine on the way, as its record names it. */
export type Hop = Pick<Host, 'id' | 'address' | 'port'>;

/** Where a credential is sent: the jump hosts in the order of the connection, and the host itself as the last one. */
export type Destination = readonly [...jumps: Hop[], host: Hop];

/** The destination as text, one spelling for each: it is bound to what is sealed. */
export function destinationText(destination: Destination): string {
  return JSON.stringify(destination.map(({ id, address, port }) => [id, address, port]));
}

/** The way to a host as the records say it now. With `hold` nobody changes the jump hosts until the transaction ends. */
export async function destinationOf(
  tx: EntityManager,
  { id, address, port, jumpHostId }: Hop & Pick<Host, 'jumpHostId'>,
  { hold = false } = {},
): Promise<Destination> {
  const read = (): Promise<Hop[]> => tx.query(WAY, [jumpHostId, MAX_JUMPS]);
  let jumps = jumpHostId === null ? [] : await read();
  if (hold && jumps.length > 0) {
    const ids = jumps.map((hop) => hop.id);
    await tx.query('SELECT 1 FROM host WHERE id = ANY($1::uuid[]) ORDER BY id FOR KEY SHARE', [ids]);
    jumps = await read();
  }
  return [...jumps, { id, address, port }];
}

const WAY = `WITH RECURSIVE way (id, address, port, jump_host_id, step) AS (
    SELECT id, address, port, jump_host_id, 1 FROM host WHERE id = $1
    UNION ALL
    SELECT h.id, h.address, h.port, h.jump_host_id, step + 1 FROM host h JOIN way ON h.id = way.jump_host_id WHERE step <= $2
  ) SELECT id, address, port FROM way ORDER BY step DESC`;
