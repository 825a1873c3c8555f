import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Until when a host is left alone: sshd counts connections that never log in, and shuts those out who make many. */
@Entity('probe_window')
export class ProbeWindow {
  @PrimaryColumn('text')
  address: string;

  @PrimaryColumn('int')
  port: number;

  @Column('timestamptz')
  until: Date;
}
