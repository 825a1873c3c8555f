import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Time until which an SSH server is not probed again: sshd penalizes addresses that make many connections without a login. */
@Entity('probe_window')
export class ProbeWindow {
  @PrimaryColumn('text')
  address: string;

  @PrimaryColumn('int')
  port: number;

  @Column('timestamptz')
  until: Date;
}
