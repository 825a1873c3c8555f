import { NIL_ID } from './new-id.js';

const DEFAULT_PAGE_ROWS = 1000;

/**
 * pagesById reads all rows in pages ordered by ID. No statement reads more than one page, and no snapshot is held between pages. Rows added concurrently may be
 * missing; no row is returned twice.
 *
 * @param read returns the first `limit` rows whose ID is greater than `after`, ordered by ID
 */
export async function* pagesById<Row extends { readonly id: string }>(
  read: (after: string, limit: number) => Promise<Row[]>,
  limit = DEFAULT_PAGE_ROWS,
): AsyncGenerator<Row[], void, undefined> {
  for (let after = NIL_ID; ;) {
    const rows = await read(after, limit);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return;
    after = last.id;
  }
}
