import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

/** Throws Problem when its module still needs the host. Runs in the transaction that removes the host, which holds its row. */
type Check = (tx: EntityManager, hostId: string) => Promise<void>;

/** What hosts are needed for, by whoever needs them. Modules enter their check when they are made. */
@Injectable()
export class HostUses {
  private readonly checks: Check[] = [];

  serve(check: Check): void {
    this.checks.push(check);
  }

  /** In the transaction that begins a use: until it ends, none of these hosts is removed, and after it the check sees the use. */
  async lockHosts(tx: EntityManager, hostIds: readonly string[]): Promise<void> {
    await tx.query('SELECT 1 FROM host WHERE id = ANY($1::uuid[]) ORDER BY id FOR KEY SHARE', [hostIds]);
  }

  async assertNone(tx: EntityManager, hostId: string): Promise<void> {
    for (const check of this.checks) await check(tx, hostId);
  }
}
