import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Networks, names and ports that may be scanned. Without a scope nothing may. */
@Entity('scan_scope')
@Index('scan_scope_name', ['name'], { unique: true })
export class ScanScope {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  name: string;

  /** CIDR, in canonical spelling. */
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
