import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../auth/access.js';
import { CountsView, ExpiryQuery, LevelCountsView, SummaryView } from './analytics.dto.js';
import { AnalyticsReader } from './analytics.reader.js';

@ApiTags('Inventory')
@Controller('api/analytics')
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
}
