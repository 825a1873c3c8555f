import { Body, Controller, Get, Param, Patch, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { IdParam } from '../../../platform/http/id-param.js';
import { PageQuery } from '../../../platform/http/page.js';
import { ExpectedVersion, VersionInterceptor } from '../../../platform/http/versions.js';
import { MayBeOlder } from '../../../platform/instances/may-be-older.js';
import { Clock } from '../../../platform/work/clock.js';
import { RuleBook } from '../../judgement/risk/rule-book.js';
import type { RuleSet } from '../../model/rule-set.js';
import { AssetAnnotationsService } from './asset-annotations.service.js';
import { AnnotateAssetBody, AsOfQuery, AssetsQuery } from './assets-query.dto.js';
import { AssetDetailView, AssetPageView } from './assets.dto.js';
import { OccurrencePageView } from './occurrences.dto.js';
import { AssetsReader } from './assets.reader.js';

@ApiTags('Inventory')
@Controller('api/assets')
@UseInterceptors(VersionInterceptor)
export class AssetsController {
  constructor(
    private readonly assets: AssetsReader,
    private readonly annotations: AssetAnnotationsService,
    private readonly book: RuleBook,
    private readonly clock: Clock,
  ) {}

  /**
   * List assets
   * @remarks Returns assets, filtered by kind, algorithm, verdict, location, owner or expiry.
   */
  @Get()
  @MayBeOlder()
  @Needs('inventory:read')
  async listAssets(@Query() query: AssetsQuery): Promise<AssetPageView> {
    return AssetPageView.of(await this.assets.list(query), this.clock.now(), await this.rules());
  }

  /**
   * Get an asset
   * @remarks Returns an asset with its verdict and the reasons for the verdict.
   */
  @Get(':id')
  @Needs('inventory:read')
  async getAsset(@Param() { id }: IdParam, @Query() { asOf }: AsOfQuery): Promise<AssetDetailView> {
    return AssetDetailView.ofDetail(await this.assets.find(id), asOf ?? this.clock.now(), await this.rules());
  }

  /**
   * Annotate an asset
   * @remarks Sets the owner and the labels of an asset.
   */
  @Patch(':id')
  @Needs('inventory:write')
  async annotateAsset(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: AnnotateAssetBody,
    @ExpectedVersion() version: number,
  ): Promise<AssetDetailView> {
    await this.annotations.change(caller, id, version, body);
    return AssetDetailView.ofDetail(await this.assets.find(id), this.clock.now(), await this.rules());
  }

  /**
   * List occurrences of an asset
   * @remarks Returns the locations at which an asset was found.
   */
  @Get(':id/occurrences')
  @Needs('inventory:read')
  async listAssetOccurrences(
    @Param() { id }: IdParam,
    @Query() { limit, cursor }: PageQuery,
  ): Promise<OccurrencePageView> {
    return OccurrencePageView.of(await this.assets.occurrences(id, limit, cursor));
  }

  /** Returns the current rules, which are needed because the lifecycle is evaluated when an asset is read. */
  private async rules(): Promise<RuleSet> {
    return (await this.book.current()).ruleSet;
  }
}
