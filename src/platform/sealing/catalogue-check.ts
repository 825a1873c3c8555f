import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Problem } from '../errors/problem.js';
import { EventBus } from '../events/events.js';
import { HealthIndicators, type Indication } from '../observability/health-indicators.js';
import { RecentValue } from '../work/recent-value.js';
import {
  CATALOGUE_FINGERPRINT,
  type CatalogueObject,
  foreignObjects,
  isMisleading,
  READ_CATALOGUE,
} from './catalogue-rules.js';

const CACHE_MS = 5000;
const MAX_NAMED = 5;

/**
 * CatalogueCheck finds database objects that no migration created and that change the meaning of statements: triggers, rules, views that replace tables,
 * functions, operators and row-level security. With these objects, the database owner can hide rows from individual statements or alter what the service
 * writes.
 */
@Injectable()
export class CatalogueCheck {
  private readonly logger = new Logger(CatalogueCheck.name);
  private last = '';
  /** Fingerprint of the last catalogue without findings. */
  private clean: string | undefined;

  constructor(
    private readonly db: DataSource,
    private readonly events: EventBus,
    indicators: HealthIndicators,
  ) {
    const recent = new RecentValue(CACHE_MS, () => this.read());
    indicators.add('catalogue', () => recent.get());
  }

  /** Checks and reports when a service process starts. Not called by operator commands, which must not add entries to the log that they examine. */
  async atStart(): Promise<void> {
    await this.reported(this.db.manager).catch((error: unknown) =>
      this.logger.warn(`unable to check the database catalogue: ${String(error)}`),
    );
  }

  /** Returns objects that the migrations did not create, as `kind name`. */
  async findings(tx: EntityManager = this.db.manager): Promise<string[]> {
    const tables = this.db.entityMetadatas.filter(({ tableType }) => tableType === 'regular');
    const names = [...tables.map(({ tableName }) => tableName), 'migrations'];
    const objects: CatalogueObject[] = await tx.query(READ_CATALOGUE, [names]);
    return foreignObjects(objects).toSorted();
  }

  /**
   * Verifies the catalogue that is visible to the transaction. Call assertUnchanged before and after statements whose meaning must not change: the locks of
   * the statements protect triggers and views until the transaction ends, and the first check finds functions that could remove themselves.
   *
   * @throws Problem `database.changed`
   */
  async assertUnchanged(tx: EntityManager): Promise<void> {
    const [row]: { fingerprint: string }[] = await tx.query(CATALOGUE_FINGERPRINT);
    if (row !== undefined && row.fingerprint === this.clean) return;
    const found = (await this.reported(tx)).filter(isMisleading);
    this.clean = found.length === 0 ? row?.fingerprint : undefined;
    if (found.length === 0) return;
    const detail = `The database contains objects that the service did not create (${named(found)}), so query results cannot be trusted. An operator must remove them; run "sealwright-admin doctor".`;
    throw new Problem('unavailable', 'database.changed', detail);
  }

  /** Returns the findings. Logs and emits the findings if they differ from the last check. */
  private async reported(tx: EntityManager): Promise<string[]> {
    const found = await this.findings(tx);
    const text = found.join();
    if (text === this.last) return found;
    this.last = text;
    if (found.length === 0) return found;
    this.logger.error(`the database contains objects that the migrations did not create: ${named(found)}`);
    this.events.emit('catalogue.changed', { objects: found });
    return found;
  }

  private async read(): Promise<Indication> {
    const found = await this.reported(this.db.manager);
    if (found.length === 0)
      return { status: 'UP', detail: 'the database contains only objects that the migrations created' };
    return { status: 'DOWN', detail: `not created by the migrations: ${named(found)}; see docs/runbook.md` };
  }
}

function named(found: readonly string[]): string {
  return found.slice(0, MAX_NAMED).join(', ') + (found.length > MAX_NAMED ? ', …' : '');
}
