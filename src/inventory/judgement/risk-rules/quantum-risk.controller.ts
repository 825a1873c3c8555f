import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Param,
  Post,
  Put,
  UseInterceptors,
  Query,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { ExpectedVersion, VersionInterceptor } from '../../../platform/http/versions.js';
import { RuleBook } from '../risk/rule-book.js';
import { RuleChangesService } from './rule-changes.service.js';
import {
  ReclassificationView,
  RuleBody,
  RuleIdParam,
  RulesVersionParam,
  TestRuleBody,
  TrialView,
} from './rule-changes.dto.js';
import { RuleTrial } from './rule-trial.js';
import { RulesView } from './rules.dto.js';
import { OwnNameBody, OwnNameQuery, OwnNamesView } from './own-names.dto.js';
import { OwnNamesService } from './own-names.service.js';

@ApiTags('Inventory')
@Controller('api/quantum-risk')
@UseInterceptors(VersionInterceptor)
export class QuantumRiskController {
  constructor(
    private readonly book: RuleBook,
    private readonly changes: RuleChangesService,
    private readonly trial: RuleTrial,
  ) {}

  /**
   * List risk rules
   * @remarks Returns the rules by which assets are classified, with their sources and deadlines.
   */
  @Get('rules')
  @Needs('inventory:read')
  async listRiskRules(): Promise<RulesView> {
    return RulesView.of(await this.book.current());
  }

  /**
   * Test a risk rule
   * @remarks Reports the effect of a rule on the inventory without changing anything.
   */
  @Post('rules/test')
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:read')
  async testRiskRule(@Body() body: TestRuleBody): Promise<TrialView> {
    const { ruleSet } = await this.book.current();
    return TrialView.of(await this.trial.run(this.changes.changed(ruleSet, body.toChange())));
  }

  /**
   * Create or replace a risk rule
   * @remarks Creates or replaces a rule. All assets are then reclassified in the background.
   */
  @Put('rules/:ruleId')
  @HttpCode(HttpStatus.ACCEPTED)
  @Needs('inventory:write')
  async putRiskRule(
    @TheCaller() caller: Caller,
    @Param() { ruleId }: RuleIdParam,
    @Body() body: RuleBody,
    @ExpectedVersion() version: number,
  ): Promise<ReclassificationView> {
    const change = { put: body.toRule(ruleId) };
    return ReclassificationView.of(await this.changes.apply(caller, version, change));
  }

  /**
   * Delete a risk rule
   * @remarks Deletes a rule. All assets are then reclassified in the background.
   */
  @Delete('rules/:ruleId')
  @HttpCode(HttpStatus.ACCEPTED)
  @Needs('inventory:write')
  async removeRiskRule(
    @TheCaller() caller: Caller,
    @Param() { ruleId }: RuleIdParam,
    @ExpectedVersion() version: number,
  ): Promise<ReclassificationView> {
    return ReclassificationView.of(await this.changes.apply(caller, version, { remove: ruleId }));
  }

  /**
   * Get reclassification progress
   * @remarks Returns the progress of reclassifying all assets.
   */
  @Get('reclassifications/:version')
  @Needs('inventory:read')
  async getReclassification(@Param() { version }: RulesVersionParam): Promise<ReclassificationView> {
    return ReclassificationView.of(await this.changes.progress(version));
  }
}

@ApiTags('Inventory')
@Controller('api/quantum-risk/names')
export class OwnNamesController {
  constructor(private readonly names: OwnNamesService) {}

  /**
   * List custom algorithm names
   * @remarks Returns user-defined algorithm names, with author and reason.
   */
  @Get()
  @Needs('inventory:read')
  async listOwnNames(): Promise<OwnNamesView> {
    return OwnNamesView.of(await this.names.list());
  }

  /**
   * Define an algorithm name
   * @remarks Defines the meaning of an algorithm name, replacing any earlier definition. All assets are then reclassified in the background.
   */
  @Put()
  @HttpCode(HttpStatus.ACCEPTED)
  @Needs('inventory:write')
  async teachName(@TheCaller() caller: Caller, @Body() body: OwnNameBody): Promise<ReclassificationView> {
    return ReclassificationView.of(await this.names.teach(caller, body));
  }

  /**
   * Delete an algorithm name
   * @remarks Deletes the definition of an algorithm name. All assets are then reclassified in the background.
   */
  @Delete()
  @HttpCode(HttpStatus.ACCEPTED)
  @Needs('inventory:write')
  async forgetName(@TheCaller() caller: Caller, @Query() { name }: OwnNameQuery): Promise<ReclassificationView> {
    return ReclassificationView.of(await this.names.forget(caller, name));
  }
}
