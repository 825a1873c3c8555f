import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { HealthIndicators, type Indication } from '../../platform/observability/health-indicators.js';
import type { Problem } from '../../platform/errors/problem.js';
import { RecentValue } from '../../platform/work/recent-value.js';
import { LogAnchors } from './log-anchors.js';
import { LogGaps } from './log-gaps.js';

/** Time after which an entry without a leaf is reported as a fault. Entries are normally appended after about a second. */
const MAX_WAIT_MS = 60_000;
/** Maximum number of waiting entries whose time is read. The order of IDs is nearly chronological. */
const MAX_WAITING_READ = 100;
/** Maximum wait for the token's response; shorter than the timeout of the health check. */
const TIMEOUT_MS = 500;
/** Time for which the token's response is cached. */
const CACHE_MS = 3000;

/** Reports whether entries are appended to the log, and whether the tree matches the signed tree. */
@Injectable()
export class LogHealth {
  private readonly tokenFault: RecentValue<string | undefined>;
  /** Number of signed leaves at the last call of `fault`. */
  private signedSize: number | undefined;

  constructor(
    private readonly db: DataSource,
    private readonly anchors: LogAnchors,
    private readonly gaps: LogGaps,
    indicators: HealthIndicators,
  ) {
    // A separate health indicator reports an HSM that does not respond.
    const read = () =>
      this.fault().then(
        (fault) => fault && `${fault.code}: ${fault.message}`,
        () => undefined,
      );
    this.tokenFault = new RecentValue(CACHE_MS, read);
    indicators.add('log', () => this.read());
  }

  private async read(): Promise<Indication> {
    const oldest = await this.oldestWaiting();
    const [checkpoint]: { size: string }[] = await this.db.query(
      `SELECT size FROM log_checkpoint ORDER BY size DESC LIMIT 1`,
    );
    const detail =
      checkpoint === undefined
        ? 'no checkpoint has been signed yet'
        : `the last signed checkpoint covers ${checkpoint.size} leaves`;
    const fault = (await this.faultByToken()) ?? this.faultByGaps();
    if (fault !== undefined) return { status: 'DOWN', detail: `${fault} ${detail}` };
    if (oldest === undefined || oldest.ageMs < MAX_WAIT_MS) return { status: 'UP', detail };
    return {
      status: 'DOWN',
      detail: `entries have been waiting to be numbered since ${oldest.at.toISOString()}; ${detail}`,
    };
  }

  /** Returns the log's fault. Verifies unsigned leaves only if nothing was signed since the last call, because signing verifies the leaves as well. */
  private async fault(): Promise<Problem | undefined> {
    const fault = await this.anchors.fault();
    const signed = (await this.anchors.newest())?.size;
    const isDelayed = signed === this.signedSize;
    this.signedSize = signed;
    return fault ?? (isDelayed ? await this.anchors.foreignLeaf() : undefined);
  }

  /** Returns the oldest waiting entry by the database clock. The time in an ID comes from the process that created the ID, whose clock may be wrong. */
  private async oldestWaiting(): Promise<{ at: Date; ageMs: number } | undefined> {
    const [row]: { at: Date | null; ageMs: number }[] = await this.db.query(
      `SELECT min(e.at) AS at, (extract(epoch FROM clock_timestamp() - min(e.at)) * 1000)::float8 AS "ageMs"
       FROM (SELECT entry_id FROM log_waiting ORDER BY entry_id LIMIT ${MAX_WAITING_READ}) w JOIN audit_entry e ON e.id = w.entry_id`,
    );
    return row?.at ? { at: row.at, ageMs: row.ageMs } : undefined;
  }

  private faultByToken(): Promise<string | undefined> {
    return Promise.race([this.tokenFault.get(), sleep(TIMEOUT_MS, undefined, { ref: false })]);
  }

  private faultByGaps(): string | undefined {
    const { unlogged } = this.gaps;
    const [first] = unlogged;
    if (first === undefined) return undefined;
    const more = unlogged.length === 1 ? '' : ` and ${unlogged.length - 1} more`;
    return `log.unlogged: The entry ${first}${more} is neither in the log nor queued for it, so it was inserted outside the service. Run "sealwright log verify";`;
  }
}
