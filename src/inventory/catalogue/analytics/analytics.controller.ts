import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../../access/access.js';
import { MayBeOlder } from '../../../platform/instances/may-be-older.js';
import { PageQuery } from '../../../platform/http/page.js';
import { CountsView, ExpiryQuery, SummaryView, LevelCountsView } from './analytics.dto.js';
import { AnalyticsReader } from './analytics.reader.js';
import { DayParam, OverTimeQuery, RiskOverTimeView, InventorySnapshotView, SourceCountsView } from './over-time.dto.js';

@ApiTags('Inventory')
@Controller('api/analytics')
@MayBeOlder()
export class AnalyticsController {
  constructor(private readonly analytics: AnalyticsReader) {}

  /**
   * Get inventory summary
   * @remarks Returns asset counts by kind, state and quantum status, the share of assets that need no migration, and the number of expired certificates and
   * keys.
   */
  @Get('summary')
  @Needs('inventory:read')
  async getSummary(): Promise<SummaryView> {
    const [kinds, states, quantum, expired] = await Promise.all([
      this.analytics.by('kind'),
      this.analytics.by('state'),
      this.analytics.by('quantum'),
      this.analytics.expired(),
    ]);
    return SummaryView.of({ kinds, states, quantum, expired });
  }

  /**
   * Count assets by risk level
   * @remarks Returns the number of assets at each risk level.
   */
  @Get('levels')
  @Needs('inventory:read')
  async countByLevel(): Promise<LevelCountsView> {
    return LevelCountsView.of(await this.analytics.by('kind'));
  }

  /**
   * Count assets by algorithm family
   * @remarks Returns the number of assets by algorithm family.
   */
  @Get('families')
  @Needs('inventory:read')
  async countByFamily(): Promise<CountsView> {
    return CountsView.of(await this.analytics.by('family'));
  }

  /**
   * Count assets by key size
   * @remarks Returns the number of assets by algorithm family and size in bits.
   */
  @Get('sizes')
  @Needs('inventory:read')
  async countBySize(): Promise<CountsView> {
    return CountsView.of(await this.analytics.by('size'));
  }

  /**
   * Count assets by deadline
   * @remarks Returns the number of assets by first deadline.
   */
  @Get('deadlines')
  @Needs('inventory:read')
  async countByDeadline(): Promise<CountsView> {
    return CountsView.of(await this.analytics.by('deadline'));
  }

  /**
   * Count assets by expiry
   * @remarks Returns the number of certificates and keys for each expiry date, starting today.
   */
  @Get('expiry')
  @Needs('inventory:read')
  async countByExpiry(@Query() { days = 365 }: ExpiryQuery): Promise<CountsView> {
    return CountsView.of(await this.analytics.expiry(days));
  }

  /**
   * Count assets by owner
   * @remarks Returns the number of assets by owner. An empty name denotes assets without an owner.
   */
  @Get('owners')
  @Needs('inventory:read')
  async countByOwner(): Promise<CountsView> {
    return CountsView.of(await this.analytics.by('owner'));
  }

  /**
   * Count assets by source
   * @remarks Returns the number of assets by source, largest number first.
   */
  @Get('sources')
  @Needs('inventory:read')
  async countBySource(@Query() { limit, cursor }: PageQuery): Promise<SourceCountsView> {
    return SourceCountsView.of(await this.analytics.sources(limit, cursor));
  }

  /**
   * Get risk over time
   * @remarks Returns asset counts by risk level for each day with a snapshot, and the current counts.
   */
  @Get('risk-over-time')
  @Needs('inventory:read')
  async getRiskOverTime(@Query() { from, to = today() }: OverTimeQuery): Promise<RiskOverTimeView> {
    const items = await this.analytics.overTime(from ?? twoYearsBefore(to), to);
    return RiskOverTimeView.of(items, await this.analytics.summary());
  }

  /**
   * Get an inventory snapshot
   * @remarks Returns the inventory as of the end of a day (UTC).
   */
  @Get('snapshots/:day')
  @Needs('inventory:read')
  async getSnapshot(@Param() { day }: DayParam): Promise<InventorySnapshotView> {
    return InventorySnapshotView.ofWhole(await this.analytics.snapshot(day));
  }
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function twoYearsBefore(day: string): string {
  return `${String(Number(day.slice(0, 4)) - 2).padStart(4, '0')}${day.slice(4, 7)}-01`;
}
