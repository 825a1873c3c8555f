import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../../access/access.js';
import { IdParam } from '../../../platform/http/id-param.js';
import { Clock } from '../../../platform/work/clock.js';
import { AsOfQuery } from '../../catalogue/assets/assets-query.dto.js';
import { ConflictsView, DeadlineCountsView, JurisdictionMatrixView } from './jurisdictions.dto.js';
import { DeadlinesReader } from './deadlines.reader.js';
import { JurisdictionsReader } from './jurisdictions.reader.js';

@ApiTags('Inventory')
@Controller('api')
export class JurisdictionsController {
  constructor(
    private readonly jurisdictions: JurisdictionsReader,
    private readonly deadlines: DeadlinesReader,
    private readonly clock: Clock,
  ) {}

  /**
   * Get the jurisdiction matrix
   * @remarks Compares all authorities' positions on the algorithms in the inventory as of a given date.
   */
  @Get('quantum-risk/jurisdictions')
  @Needs('inventory:read')
  async getJurisdictionMatrix(@Query() { asOf }: AsOfQuery): Promise<JurisdictionMatrixView> {
    const day = this.day(asOf);
    return JurisdictionMatrixView.of(day, await this.jurisdictions.matrix(day));
  }

  /**
   * List deadlines
   * @remarks Returns deadlines with the number of affected assets.
   */
  @Get('quantum-risk/deadlines')
  @Needs('inventory:read')
  async listDeadlines(): Promise<DeadlineCountsView> {
    return DeadlineCountsView.of(this.day(), await this.deadlines.counts());
  }

  /**
   * List jurisdiction conflicts
   * @remarks Returns the algorithms in the inventory that one authority recommends and another authority rejects, with alternatives that satisfy all
   * authorities.
   */
  @Get('quantum-risk/conflicts')
  @Needs('inventory:read')
  async listJurisdictionConflicts(@Query() { asOf }: AsOfQuery): Promise<ConflictsView> {
    const day = this.day(asOf);
    return ConflictsView.of(day, await this.jurisdictions.conflicts(day));
  }

  /**
   * Get jurisdictions of an asset
   * @remarks Compares all authorities' positions on an asset's algorithms as of a given date.
   */
  @Get('assets/:id/jurisdictions')
  @Needs('inventory:read')
  async getAssetJurisdictions(@Param() { id }: IdParam, @Query() { asOf }: AsOfQuery): Promise<JurisdictionMatrixView> {
    const day = this.day(asOf);
    return JurisdictionMatrixView.of(day, await this.jurisdictions.ofAsset(id, day));
  }

  private day(asOf = this.clock.now()): string {
    return asOf.toISOString().slice(0, 10);
  }
}
