import { Column, Entity, PrimaryColumn } from 'typeorm';

/** How often a key with a quota or a cap was used in a period. Keys without have no rows. */
@Entity('signing_key_usage')
export class SigningKeyUsage {
  @PrimaryColumn('uuid')
  keyId: string;

  /** A day of UTC (2027-01-31), or `lifetime`. */
  @PrimaryColumn('text')
  period: string;

  /** Requests that were accepted. */
  @Column('int')
  used: number;

  /** The limit that held at the last use. */
  @Column('int')
  most: number;
}
