import { Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';

/** Connections of this process. */
interface PoolUse {
  readonly used: number;
  readonly idle: number;
  /** Calls that wait for a connection. */
  readonly waiting: number;
}

/** The pool of connections that every module of this process shares. TypeORM has it as `master` of its driver, without a type. */
@Injectable()
export class DatabasePool {
  constructor(private readonly db: DataSource) {}

  use(): PoolUse {
    const pool = (this.db.driver as unknown as { readonly master?: Pool }).master;
    if (pool === undefined) return { used: 0, idle: 0, waiting: 0 };
    const { totalCount, idleCount, waitingCount } = pool;
    return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }
}
