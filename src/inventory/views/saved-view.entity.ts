import { Column, Entity, PrimaryColumn, Unique } from 'typeorm';

/** A query of the list of assets, saved under a name for all users. */
export interface SavedQuery {
  /** As in the query parameter `q`. */
  readonly q: string;
  readonly sort: string;
}

@Entity('inventory_view')
@Unique('inventory_view_name', ['name'])
export class SavedView {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  @Column('jsonb')
  query: SavedQuery;

  @Column('text')
  createdBy: string;

  @Column('int', { default: 1 })
  version: number;

  @Column('timestamptz', { default: () => 'now()' })
  changedAt: Date;
}
