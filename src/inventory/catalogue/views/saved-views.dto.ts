import { Name, OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import { ASSET_SORTS, type AssetSort } from '../assets/assets.reader.js';
import type { SavedView, ViewOrder } from './saved-views.service.js';

export class SavedViewBody {
  /** Unique name of the saved query. @example 'RSA to replace by 2030' */
  @Name(1, 100) name: string;
  /** Query, in the syntax of the `q` parameter of the asset list. @example 'level>=HIGH and family=RSA' */
  @Text(1, 2000) q: string;
  @Optional(OneOf(ASSET_SORTS, { default: 'id', example: '-level' })) sort?: AssetSort;

  toOrder(): ViewOrder {
    return { name: this.name, query: { q: this.q, sort: this.sort ?? 'id' } };
  }
}

export class SavedViewView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'RSA to replace by 2030' */
  name: string;
  /** @example 'level>=HIGH and family=RSA' */
  q: string;
  /** @example -level */
  sort: string;
  /** Path of the asset list with this query. @example /api/assets?q=family%3DRSA&sort=-level */
  url: string;
  /** Version of the saved query, used as the value for `If-Match`. @example 1 */
  version: number;
  /** @example 2026-11-20T12:00:00Z */
  changedAt: Date;

  static of({ id, name, query: { q, sort }, version, changedAt }: SavedView): SavedViewView {
    const url = `/api/assets?q=${encodeURIComponent(q)}&sort=${encodeURIComponent(sort)}`;
    return { id, name, q, sort, url, version, changedAt };
  }
}

export class SavedViewList {
  items: SavedViewView[];
  /** Always null: all queries are on one page. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;
}
