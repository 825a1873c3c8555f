import { OmitType } from '@nestjs/swagger';
import { AssetFilterQuery } from '../assets/assets.dto.js';

/** Which assets: every condition that is given must hold. */
export class ExportQuery extends OmitType(AssetFilterQuery, ['limit', 'cursor'] as const) {}
