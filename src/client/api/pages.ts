import type { ApiClient } from './api-client.js';

const PAGE = 200;

/** listAll returns the items that match the filter, from all pages of a list. */
export async function listAll<Item>(
  api: ApiClient,
  path: string,
  filter: Readonly<Record<string, string>> = {},
): Promise<Item[]> {
  const all: Item[] = [];
  const query = new URLSearchParams({ limit: String(PAGE), ...filter });
  for (;;) {
    const page: { items: Item[]; nextCursor: string | null } = await api.call('GET', `${path}?${query.toString()}`);
    all.push(...page.items);
    if (page.nextCursor === null) return all;
    query.set('cursor', page.nextCursor);
  }
}
