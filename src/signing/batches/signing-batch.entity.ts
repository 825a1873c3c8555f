import { Column, Entity, PrimaryColumn } from 'typeorm';

/** An item that was not accepted: it has no request, so its reason is kept here. */
export interface RefusedItem {
  readonly index: number;
  readonly code: string;
  readonly detail: string;
}

/** Many requests that came in one call. Each is a request like any other; this row only holds them together. */
@Entity('signing_batch')
export class SigningBatch {
  @PrimaryColumn('uuid')
  id: string;

  @Column('int')
  size: number;

  /** Null until every item was accepted or refused. */
  @Column('jsonb', { nullable: true })
  refused: RefusedItem[] | null;

  @Column('text')
  ownerId: string;

  @Column('text')
  requestedBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
