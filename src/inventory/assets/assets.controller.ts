import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../auth/access.js';
import { IdParam } from '../../platform/http/id-param.js';
import { PageQuery } from '../../platform/http/page.js';
import { Clock } from '../../platform/time/clock.js';
import { AsOfQuery, AssetDetailView, AssetPageView, AssetsQuery } from './assets.dto.js';
import { OccurrencePageView } from './occurrences.dto.js';
import { AssetsReader } from './assets.reader.js';

@ApiTags('Inventory')
@Controller('api/assets')
export class AssetsController {
  constructor(
    private readonly assets: AssetsReader,
    private readonly clock: Clock,
  ) {}

  /** Finds assets by what they are, how they are judged, where they are and when they end. */
  @Get()
  @Needs('inventory:read')
  async listAssets(@Query() query: AssetsQuery): Promise<AssetPageView> {
    return AssetPageView.of(await this.assets.list(query), this.clock.now());
  }

  /** Shows an asset and why it is judged as it is. */
  @Get(':id')
  @Needs('inventory:read')
  async getAsset(@Param() { id }: IdParam, @Query() { asOf }: AsOfQuery): Promise<AssetDetailView> {
    return AssetDetailView.ofDetail(await this.assets.find(id), asOf ?? this.clock.now());
  }

  /** Lists the places where an asset was seen. */
  @Get(':id/occurrences')
  @Needs('inventory:read')
  async listAssetOccurrences(
    @Param() { id }: IdParam,
    @Query() { limit, cursor }: PageQuery,
  ): Promise<OccurrencePageView> {
    return OccurrencePageView.of(await this.assets.occurrences(id, limit, cursor));
  }
}
