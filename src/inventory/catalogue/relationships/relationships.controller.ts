import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../../access/access.js';
import { IdParam } from '../../../platform/http/id-param.js';
import {
  NeighboursQuery,
  PathQuery,
  PathView,
  RadiusQuery,
  RadiusView,
  RelationshipPage,
  RelationshipsQuery,
} from './relationships.dto.js';
import { RelationshipsReader } from './relationships.reader.js';

@ApiTags('Inventory')
@Controller('api/relationships')
export class RelationshipsController {
  constructor(private readonly relationships: RelationshipsReader) {}

  /**
   * List relationships
   * @remarks Returns the relationships between assets.
   */
  @Get()
  @Needs('inventory:read')
  async listRelationships(@Query() query: RelationshipsQuery): Promise<RelationshipPage> {
    return RelationshipPage.of(await this.relationships.list(query));
  }

  /**
   * Find a relationship path
   * @remarks Returns the shortest path from one asset to another.
   */
  @Get('path')
  @Needs('inventory:read')
  async getRelationshipPath(@Query() { from, to, depth = 10 }: PathQuery): Promise<PathView> {
    return PathView.of(await this.relationships.path(from, to, depth));
  }

  /**
   * List neighbours of an asset
   * @remarks Returns the assets that an asset uses, or the assets that use the asset.
   */
  @Get(':id/neighbours')
  @Needs('inventory:read')
  async listNeighbours(
    @Param() { id }: IdParam,
    @Query() { direction, kind, limit, cursor }: NeighboursQuery,
  ): Promise<RelationshipPage> {
    return RelationshipPage.of(await this.relationships.list({ assetId: id, direction, kind, limit, cursor }));
  }

  /**
   * Get the blast radius
   * @remarks Returns all assets that depend on an asset, directly or indirectly.
   */
  @Get(':id/blast-radius')
  @Needs('inventory:read')
  async getBlastRadius(
    @Param() { id }: IdParam,
    @Query() { depth = 10, limit = 1000 }: RadiusQuery,
  ): Promise<RadiusView> {
    return RadiusView.of(await this.relationships.blastRadius(id, depth, limit));
  }
}
