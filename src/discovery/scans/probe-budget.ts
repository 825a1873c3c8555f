import { Injectable } from '@nestjs/common';
import { DataSource, MoreThan } from 'typeorm';
import { ScanResult } from '../model/scan-result.entity.js';

/** Seconds between two visits to one sshd: with four connections each, its penalties for connections without a login run out faster than they add up. */
const PAUSE = 60;

/** Who was visited lately, by whichever scan of whichever worker. */
@Injectable()
export class ProbeBudget {
  constructor(private readonly db: DataSource) {}

  /** Claims the visit; false when somebody made one less than a minute ago. */
  async claim(address: string, port: number): Promise<boolean> {
    const rows: unknown[] = await this.db.query(
      `INSERT INTO probe_window (address, port, until) VALUES ($1, $2, now() + ${PAUSE} * interval '1 second')
       ON CONFLICT (address, port) DO UPDATE SET until = excluded.until WHERE probe_window.until <= now() RETURNING port`,
      [address, port],
    );
    return rows.length > 0;
  }

  /** Addresses with ports, as `address port`, that are to be left alone for now. */
  async closed(): Promise<Set<string>> {
    await this.db.query(`DELETE FROM probe_window WHERE until < now() - interval '1 hour'`);
    const rows: { address: string; port: number }[] = await this.db.query(
      `SELECT address, port FROM probe_window WHERE until > now() LIMIT 200000`,
    );
    return new Set(rows.map(({ address, port }) => `${address} ${port}`));
  }

  /** What the last visit learnt; undefined while it is still going on. */
  async last(address: string, port: number): Promise<ScanResult | undefined> {
    const since = new Date(Date.now() - 2 * PAUSE * 1000);
    const place = { address, port, protocol: 'ssh', reused: false, at: MoreThan(since) } as const;
    const row = await this.db.manager.findOne(ScanResult, { where: place, order: { id: 'DESC' } });
    return row ?? undefined;
  }
}
