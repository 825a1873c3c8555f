import { Injectable } from '@nestjs/common';
import { DataSource, MoreThan, Column, Entity, PrimaryColumn } from 'typeorm';
import { ScanResult } from '../scan-result.entity.js';

/** Time until which an SSH server is not probed again. sshd penalizes addresses that make many connections without logging in. */
@Entity('probe_window')
export class ProbeWindow {
  @PrimaryColumn('text')
  address: string;

  @PrimaryColumn('int')
  port: number;

  @Column('timestamptz')
  until: Date;
}

/**
 * Minimum number of seconds between two probes of one sshd. A probe makes up to four connections without a login. sshd's penalties for these connections expire
 * within this time.
 */
const PAUSE_SECONDS = 60;

/** ProbeBudget limits how often an SSH server is probed, across all scans and workers. */
@Injectable()
export class ProbeBudget {
  constructor(private readonly db: DataSource) {}

  /** Claims a probe. Returns false if the server was probed less than a minute ago. */
  async claim(address: string, port: number): Promise<boolean> {
    const rows: unknown[] = await this.db.query(
      `INSERT INTO probe_window (address, port, until) VALUES ($1, $2, now() + ${PAUSE_SECONDS} * interval '1 second')
       ON CONFLICT (address, port) DO UPDATE SET until = excluded.until WHERE probe_window.until <= now() RETURNING port`,
      [address, port],
    );
    return rows.length > 0;
  }

  /** Returns servers probed less than a minute ago, as `address port`. */
  async probedLately(): Promise<Set<string>> {
    await this.db.query(`DELETE FROM probe_window WHERE until < now() - interval '1 hour'`);
    const rows: { address: string; port: number }[] = await this.db.query(
      `SELECT address, port FROM probe_window WHERE until > now() LIMIT 200000`,
    );
    return new Set(rows.map(({ address, port }) => `${address} ${port}`));
  }

  /** Returns the result of the last probe, or undefined while that probe is still running. */
  async last(address: string, port: number): Promise<ScanResult | undefined> {
    const since = new Date(Date.now() - 2 * PAUSE_SECONDS * 1000);
    const place = { address, port, protocol: 'ssh', reused: false, at: MoreThan(since) } as const;
    const row = await this.db.manager.findOne(ScanResult, { where: place, order: { id: 'DESC' } });
    return row ?? undefined;
  }
}
