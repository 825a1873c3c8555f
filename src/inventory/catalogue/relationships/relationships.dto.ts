import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import { IdRef, OneOf, Optional } from '../../../platform/http/fields/fields.js';
import type { Page } from '../../../platform/http/cursors.js';
import { PageQuery } from '../../../platform/http/page.js';
import { ASSET_KINDS } from '../../model/asset-kind.js';
import { LEVELS, type Level } from '../../model/risk-verdict.js';
import { RELATIONSHIP_KINDS, type RelationshipKind } from '../../model/asset-relationship.entity.js';
import type { Direction, Edge, Radius, Reached } from './relationships.reader.js';

export class NeighboursQuery extends PageQuery {
  /** `out`: assets that the asset uses; `in`: assets that use the asset. */
  @Optional(OneOf(['out', 'in'], { default: 'out' })) direction?: Direction;
  @Optional(OneOf(RELATIONSHIP_KINDS)) kind?: RelationshipKind;
}

export class RelationshipsQuery extends PageQuery {
  @Optional(OneOf(RELATIONSHIP_KINDS)) kind?: RelationshipKind;
}

export class RadiusQuery {
  /** Maximum number of steps. */
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) @Max(20) depth?: number = 10;
  /** Maximum number of assets. */
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) @Max(20_000) limit?: number = 1000;
}

export class PathQuery {
  /** ID of the asset at which the path starts. */
  @IdRef() from: string;
  /** ID of the asset at which the path ends. */
  @IdRef() to: string;
  /** Maximum number of steps. */
  @IsOptional() @Type(() => Number) @IsInt() @Min(1) @Max(20) depth?: number = 10;
}

export class RelationshipView {
  /** @example 0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01 */
  fromId: string;
  /** @example shop */
  fromName: string;
  kind: RelationshipKind;
  /** @example 0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01 */
  toId: string;
  /** @example RSA-2048 */
  toName: string;
}

export class RelationshipPage {
  items: RelationshipView[];
  /** @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of({ items, nextCursor }: Page<Edge>): RelationshipPage {
    return {
      items: items.map(({ fromId, fromName, kind, toId, toName }) => ({ fromId, fromName, kind, toId, toName })),
      nextCursor,
    };
  }
}

export class ReachedView {
  /** @example 0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01 */
  id: string;
  @ApiProperty({ enum: ASSET_KINDS }) kind: string;
  /** @example RSA-2048 */
  name: string;
  @ApiProperty({ enum: LEVELS, nullable: true }) level: Level | null;
  /** Number of steps from the start. @example 1 */
  depth: number;
  /** ID of the previous asset on the path from the start. `viaKind` is the kind of relationship to that asset. @example 0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01 */
  viaId: string;
  viaKind: RelationshipKind;

  static of(row: Reached): ReachedView {
    const { level } = row;
    return viewOf(ReachedView, row, { level: level === null ? null : (LEVELS[level] ?? null) });
  }
}

export class RadiusView {
  /** Reached assets, nearest first. */
  items: ReachedView[];
  /** Whether there are more assets than `limit`. */
  truncated: boolean;

  static of({ nodes, truncated }: Radius): RadiusView {
    return { items: nodes.map((node) => ReachedView.of(node)), truncated };
  }
}

export class PathView {
  /** Steps after the start; empty if there is no path. */
  items: ReachedView[];

  static of(steps: Reached[]): PathView {
    return { items: steps.map((step) => ReachedView.of(step)) };
  }
}
