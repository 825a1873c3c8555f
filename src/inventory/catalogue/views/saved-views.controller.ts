import { Body, Controller, Delete, Get, HttpCode, HttpStatus, Param, Post, Put, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { Repeatable } from '../../../access/repeatable.js';
import { IdParam } from '../../../platform/http/id-param.js';
import { ExpectedVersion, VersionInterceptor } from '../../../platform/http/versions.js';
import type { IdempotentUse } from '../../../platform/http/idempotency-keys.js';
import { SavedViewBody, SavedViewList, SavedViewView } from './saved-views.dto.js';
import { SavedViewsService } from './saved-views.service.js';

@ApiTags('Inventory')
@Controller('api/asset-views')
@UseInterceptors(VersionInterceptor)
export class SavedViewsController {
  constructor(private readonly views: SavedViewsService) {}

  /**
   * List saved queries
   * @remarks Returns all saved queries.
   */
  @Get()
  @Needs('inventory:read')
  async listAssetViews(): Promise<SavedViewList> {
    return { items: (await this.views.list()).map((view) => SavedViewView.of(view)), nextCursor: null };
  }

  /**
   * Get a saved query
   * @remarks Returns a saved query.
   */
  @Get(':id')
  @Needs('inventory:read')
  async getAssetView(@Param() { id }: IdParam): Promise<SavedViewView> {
    return SavedViewView.of(await this.views.get(id));
  }

  /**
   * Save a query
   * @remarks Saves a query under a name for all users.
   */
  @Post()
  @Needs('inventory:write')
  async createAssetView(
    @TheCaller() caller: Caller,
    @Body() body: SavedViewBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<SavedViewView> {
    return SavedViewView.of(await this.views.create(caller, body.toOrder(), use));
  }

  /**
   * Update a saved query
   * @remarks Changes the name or the content of a saved query.
   */
  @Put(':id')
  @Needs('inventory:write')
  async changeAssetView(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: SavedViewBody,
    @ExpectedVersion() version: number,
  ): Promise<SavedViewView> {
    return SavedViewView.of(await this.views.change(caller, id, version, body.toOrder()));
  }

  /**
   * Delete a saved query
   * @remarks Deletes a saved query.
   */
  @Delete(':id')
  @Needs('inventory:write')
  @HttpCode(HttpStatus.NO_CONTENT)
  async removeAssetView(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.views.remove(caller, id);
  }
}
