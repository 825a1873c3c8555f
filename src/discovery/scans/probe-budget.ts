import { Injectable } from '@nestjs/common';
import { DataSource, MoreThan, Column, Entity, PrimaryColumn } from 'typeorm';
import { ScanResult } from '../model/scan-result.entity.js';

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

/** Seconds between two probes of one sshd: a probe makes up to four connections, whose penalties for having no login expire within that time. */
const PAUSE_SECONDS = 60;

/** Limits how often an SSH server is probed, over all scans of all workers. */
@Injectable()
export class ProbeBudget {
  constructor(private readonly db: DataSource) {}

  /** Claims a probe; false when the server was probed less than a minute ago. */
  async claim(address: string, port: number): Promise<boolean> {
    const rows: unknown[] = await this.db.query(
      `INSERT INTO probe_window (address, port, until) VALUES ($1, $2, now() + ${PAUSE_SECONDS} * interval '1 second')
       ON CONFLICT (address, port) DO UPDATE SET until = excluded.until WHERE probe_window.until <= now() RETURNING port`,
      [address, port],
    );
    return rows.length > 0;
  }

  /** Servers, as `address port`, that were probed less than a minute ago. */
  async probedLately(): Promise<Set<string>> {
    await this.db.query(`DELETE FROM probe_window WHERE until < now() - interval '1 hour'`);
    const rows: { address: string; port: number }[] = await this.db.query(
      `SELECT address, port FROM probe_window WHERE until > now() LIMIT 200000`,
    );
    return new Set(rows.map(({ address, port }) => `${address} ${port}`));
  }

  /** Result of the last probe; undefined while that is still going on. */
  async last(address: string, port: number): Promise<ScanResult | undefined> {
    const since = new Date(Date.now() - 2 * PAUSE_SECONDS * 1000);
    const place = { address, port, protocol: 'ssh', reused: false, at: MoreThan(since) } as const;
    const row = await this.db.manager.findOne(ScanResult, { where: place, order: { id: 'DESC' } });
    return row ?? undefined;
  }
}
