import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Which asset each bom-ref stands for, of all documents that say the same. */
@Entity('bom_link_refs')
export class BomLinkRefs {
  @PrimaryColumn('bytea')
  said: Buffer;

  /** Compressed JSON: {ref: asset id}. */
  @Column('bytea')
  refs: Buffer;
}

/** An export: its bom-refs are ids of assets. */
@Entity('bom_link_export')
export class BomLinkExport {
  /** Serial number of the document. */
  @PrimaryColumn('uuid')
  serial: string;

  /** The time of the newest document in it. */
  @Column('timestamptz')
  state: Date;

  @Column('timestamptz', { default: () => 'now()' })
  madeAt: Date;
}
