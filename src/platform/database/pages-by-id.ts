import { NIL_ID } from './new-id.js';

const DEFAULT_PAGE_ROWS = 1000;

/**
 * Reads rows in pages in the order of their ids, for whoever needs all of them: no statement reads more than its page, however large the table is,
 * and no snapshot is held between two pages. Rows that come in meanwhile may be missing, and none comes twice.
 *
 * @param read answers the first `limit` rows whose id is greater than `after`, by id
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
