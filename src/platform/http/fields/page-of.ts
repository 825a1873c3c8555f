import { ApiProperty } from '@nestjs/swagger';
import type { Page } from '../cursors.js';

interface ViewType<View extends object, Row> {
  new (): View;
  of(row: Row): View;
}

/** PageOf returns the class of a page whose items are `type` views of rows. */
export function PageOf<View extends object, Row>(type: ViewType<View, Row>) {
  class PageView {
    @ApiProperty({ type: [type] })
    items: View[];

    @ApiProperty({
      type: String,
      nullable: true,
      description: 'Cursor of the next page; null on the last page.',
      example: 'WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA',
    })
    nextCursor: string | null;

    static of({ items, nextCursor }: Page<Row>): PageView {
      return { items: items.map((row) => type.of(row)), nextCursor };
    }
  }
  return PageView;
}
