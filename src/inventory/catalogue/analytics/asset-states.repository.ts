import type { DataSource } from 'typeorm';
import { NIL_ID } from '../../../platform/database/new-id.js';
import { stateOf } from '../../model/asset-kind.js';

/** PAGE is the number of assets per statement. Each statement takes only a few milliseconds. */
const PAGE = 1000;

/**
 * repairStates corrects the state of every asset whose state does not match its occurrences, one page per statement. The running counts are not adjusted and
 * must be reconciled afterwards.
 *
 * @returns the number of corrected states
 */
export async function repairStates(db: DataSource): Promise<number> {
  let repaired = 0;
  for (let after: string | null = NIL_ID; after !== null;) {
    const [page] = (await db.query(REPAIR_PAGE, [after])) as { last: string | null; repaired: number }[];
    repaired += page?.repaired ?? 0;
    after = page?.last ?? null;
  }
  return repaired;
}

/** SQL that repairs one page of assets, starting after $1. `last` is null on the last page. */
const REPAIR_PAGE = `
  WITH page AS MATERIALIZED (SELECT id FROM asset WHERE id > $1 ORDER BY id LIMIT ${PAGE}),
  actual AS (
    SELECT p.id, ${stateOf('o')} AS state FROM page p JOIN asset_occurrence o ON o.asset_id = p.id GROUP BY p.id),
  repaired AS (
    UPDATE asset a SET state = n.state, changed_at = now() FROM actual n WHERE a.id = n.id AND a.state <> n.state RETURNING a.id)
  SELECT (SELECT id FROM page ORDER BY id OFFSET ${PAGE - 1} LIMIT 1) AS last, (SELECT count(*)::int FROM repaired) AS repaired`;
