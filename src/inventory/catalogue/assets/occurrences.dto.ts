import { viewOf } from '../../../platform/http/fields/view-of.js';
import type { Page } from '../../../platform/http/cursors.js';
import type { PlaceAtSource } from './assets.reader.js';

export class OccurrenceView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  sourceId: string;
  /** @example "checkout of keycloak" */
  source: string;
  /** Name that the source uses for the asset. @example SHA256 */
  name: string;
  /** @example src/main/java/Keys.java */
  location: string;
  /** @example 42 */
  line: number | null;
  /** @example 8 */
  offset: number | null;
  /** @example getInstance */
  symbol: string | null;
  /** @example "Cipher.getInstance" */
  additionalContext: string | null;
  firstSeen: Date;
  lastSeen: Date;
  /** Number of consecutive newer documents of the source that did not contain the occurrence. @example 0 */
  missed: number;

  static of(row: PlaceAtSource): OccurrenceView {
    const { position: offset, context } = row;
    return viewOf(OccurrenceView, row, { offset, additionalContext: context });
  }
}

export class OccurrencePageView {
  items: OccurrenceView[];
  /** @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of({ items, nextCursor }: Page<PlaceAtSource>): OccurrencePageView {
    return { items: items.map((row) => OccurrenceView.of(row)), nextCursor };
  }
}
