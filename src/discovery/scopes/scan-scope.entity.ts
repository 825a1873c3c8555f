import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What may be scanned. Nothing is until an administrator has said so. */
@Entity('scan_scope')
@Index('scan_scope_name', ['name'], { unique: true })
export class ScanScope {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** CIDR, in one spelling. */
  @Column('text', { array: true })
  networks: string[];

  /** DNS names in lower case; each stands for itself and everything below it. */
  @Column('text', { array: true })
  names: string[];

  @Column('int', { array: true })
  ports: number[];

  @Column('text')
  createdBy: string;

  @Column('timestamptz', { default: () => 'now()' })
  createdAt: Date;
}
