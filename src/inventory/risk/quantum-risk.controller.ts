import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../auth/access.js';
import { DEFAULT_RULES } from './default-rules.js';
import { RulesView } from './rules.dto.js';

@ApiTags('Inventory')
@Controller('api/quantum-risk')
export class QuantumRiskController {
  /** Lists the rules that assets are judged by, with their sources and deadlines. */
  @Get('rules')
  @Needs('inventory:read')
  listRiskRules(): RulesView {
    return RulesView.of(DEFAULT_RULES);
  }
}
