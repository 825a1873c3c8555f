import type { ApiClient } from './api-client.js';

const PAGE = 200;

/** listAll returns the items of all pages of a list. */
export async function listAll<Item>(api: ApiClient, path: string): Promise<Item[]> {
  const all: Item[] = [];
  for (let after = ''; ;) {
    const page: { items: Item[]; nextCursor: string | null } = await api.call('GET', `${path}?limit=${PAGE}${after}`);
    all.push(...page.items);
    if (page.nextCursor === null) return all;
    after = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}
