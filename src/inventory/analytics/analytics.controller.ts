import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../access/access.js';
import { MayBeOlder } from '../../platform/reads/may-be-older.js';
import { PageQuery } from '../../platform/http/page.js';
import { CountsView, ExpiryQuery, SummaryView, LevelCountsView } from './analytics.dto.js';
import { AnalyticsReader } from './analytics.reader.js';
import { DayParam, OverTimeQuery, RiskOverTimeView, InventorySnapshotView, SourceCountsView } from './over-time.dto.js';

@ApiTags('Inventory')
@Controller('api/analytics')
@MayBeOlder()
export class AnalyticsController {
  constructor(private readonly analytics: AnalyticsReader) {}

  /** Shows the inventory in numbers. */
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

  /** Counts assets by level. */
  @Get('levels')
  @Needs('inventory:read')
  async countByLevel(): Promise<LevelCountsView> {
    return LevelCountsView.of(await this.analytics.by('kind'));
  }

  /** Counts assets by algorithm family. */
  @Get('families')
  @Needs('inventory:read')
  async countByFamily(): Promise<CountsView> {
    return CountsView.of(await this.analytics.by('family'));
  }

  /** Counts assets by family and size in bits. */
  @Get('sizes')
  @Needs('inventory:read')
  async countBySize(): Promise<CountsView> {
    return CountsView.of(await this.analytics.by('size'));
  }

  /** Counts assets by their first deadline. */
  @Get('deadlines')
  @Needs('inventory:read')
  async countByDeadline(): Promise<CountsView> {
    return CountsView.of(await this.analytics.by('deadline'));
  }

  /** Counts certificates and keys by the day on which they end. */
  @Get('expiry')
  @Needs('inventory:read')
  async countByExpiry(@Query() { days = 365 }: ExpiryQuery): Promise<CountsView> {
    return CountsView.of(await this.analytics.expiry(days));
  }

  /** Counts assets by who answers for them; nobody is the empty name. */
  @Get('owners')
  @Needs('inventory:read')
  async countByOwner(): Promise<CountsView> {
    return CountsView.of(await this.analytics.by('owner'));
  }

  /** Counts what each source shows, the source of the most assets first. */
  @Get('sources')
  @Needs('inventory:read')
  async countBySource(@Query() { limit, cursor }: PageQuery): Promise<SourceCountsView> {
    return SourceCountsView.of(await this.analytics.sources(limit, cursor));
  }

  /** Shows how risk went day by day, and how it stands now. */
  @Get('risk-over-time')
  @Needs('inventory:read')
  async getRiskOverTime(@Query() { from, to = today() }: OverTimeQuery): Promise<RiskOverTimeView> {
    const items = await this.analytics.overTime(from ?? twoYearsBefore(to), to);
    return RiskOverTimeView.of(items, await this.analytics.summary());
  }

  /** Shows how the inventory stood at the end of a day. */
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
