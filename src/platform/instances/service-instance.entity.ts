import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A process of the service. It writes its own row every two seconds, so `seenAt` is the time of its last commit. */
@Entity('service_instance')
export class ServiceInstance {
  /** Made anew at every start; the same id names the process in the rows that it claims. */
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  role: 'all' | 'api' | 'worker';

  @Column('text')
  host: string;

  @Column('int')
  pid: number;

  /** Version of the product. */
  @Column('text')
  version: string;

  /** Name of the newest migration that this version knows. */
  @Column('text')
  schema: string;

  @Column('timestamptz')
  startedAt: Date;

  @Column('timestamptz')
  seenAt: Date;

  /** How far the clock of the process is ahead of the database's, in milliseconds; negative when it is behind. */
  @Column('int')
  clockOffsetMs: number;
}

export type InstanceRow = Pick<ServiceInstance, keyof ServiceInstance>;
