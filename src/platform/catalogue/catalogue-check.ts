import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Problem } from '../errors/problem.js';
import { EventBus } from '../events/events.js';
import { HealthIndicators, type Indication } from '../health/health-indicators.js';
import { RecentValue } from '../time/recent-value.js';
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
 * CatalogueCheck finds database objects that no migration created and that change the meaning of statements: triggers, rules, views that replace
 * tables, functions, operators and row-level security. With such objects, the database owner can hide rows from individual statements or alter
 * what the service writes.
 */
@Injectable()
export class CatalogueCheck {
  private readonly logger = new Logger(CatalogueCheck.name);
  private last = '';
  /** Fingerprint of the catalogue in which nothing was found. */
  private clean: string | undefined;

  constructor(
    private readonly db: DataSource,
    private readonly events: EventBus,
    indicators: HealthIndicators,
  ) {
    const recent = new RecentValue(CACHE_MS, () => this.read());
    indicators.add('catalogue', () => recent.get());
  }

  /** Checks and reports, at the start of a process of the service. A command of an operator must not add entries to the log that it looks at. */
  async atStart(): Promise<void> {
    await this.reported(this.db.manager).catch((error: unknown) =>
      this.logger.warn(`the catalogue was not checked: ${String(error)}`),
    );
  }

  /** Objects that the migrations did not make, as `kind name`. */
  async findings(tx: EntityManager = this.db.manager): Promise<string[]> {
    const tables = this.db.entityMetadatas.filter(({ tableType }) => tableType === 'regular');
    const names = [...tables.map(({ tableName }) => tableName), 'migrations'];
    const objects: CatalogueObject[] = await tx.query(READ_CATALOGUE, [names]);
    return foreignObjects(objects).toSorted();
  }

  /**
   * Verifies the catalogue as a transaction sees it. Called before and after what must not be misled: the locks of the statements in between keep triggers and
   * views as they are until the transaction ends, and functions that end themselves are found before.
   *
   * @throws Problem `database.changed`
   */
  async assertUnchanged(tx: EntityManager): Promise<void> {
    const [row]: { fingerprint: string }[] = await tx.query(CATALOGUE_FINGERPRINT);
    if (row !== undefined && row.fingerprint === this.clean) return;
    const found = (await this.reported(tx)).filter(isMisleading);
    this.clean = found.length === 0 ? row?.fingerprint : undefined;
    if (found.length === 0) return;
    const detail = `The database has objects that the service did not create (${named(found)}), so its answers cannot be trusted. An operator removes them: sealwright-admin doctor.`;
    throw new Problem('unavailable', 'database.changed', detail);
  }

  /** The findings. Others than the last time are logged and emitted. */
  private async reported(tx: EntityManager): Promise<string[]> {
    const found = await this.findings(tx);
    const text = found.join();
    if (text === this.last) return found;
    this.last = text;
    if (found.length === 0) return found;
    this.logger.error(`objects in the database that the migrations did not create: ${named(found)}`);
    this.events.emit('catalogue.changed', { objects: found });
    return found;
  }

  private async read(): Promise<Indication> {
    const found = await this.reported(this.db.manager);
    if (found.length === 0)
      return { status: 'UP', detail: 'the database has only objects that the migrations created' };
    return { status: 'DOWN', detail: `not created by the migrations: ${named(found)}; see docs/runbook.md` };
  }
}

function named(found: readonly string[]): string {
  return found.slice(0, MAX_NAMED).join(', ') + (found.length > MAX_NAMED ? ', …' : '');
}
