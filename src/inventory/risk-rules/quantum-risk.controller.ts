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
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
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

  /** Lists the rules that assets are judged by, with their sources and deadlines. */
  @Get('rules')
  @Needs('inventory:read')
  async listRiskRules(): Promise<RulesView> {
    return RulesView.of(await this.book.current());
  }

  /** Tells what a change of a rule would do, and changes nothing. */
  @Post('rules/test')
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:read')
  async testRiskRule(@Body() body: TestRuleBody): Promise<TrialView> {
    const { ruleSet } = await this.book.current();
    return TrialView.of(await this.trial.run(this.changes.changed(ruleSet, body.toChange())));
  }

  /** Puts a rule in place of the one with this id, or beside the others; everything is then judged anew in the background. */
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

  /** Takes a rule out; everything is then judged anew in the background. */
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

  /** Shows how far judging anew has come. */
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

  /** Lists the names of algorithms that people taught, with who did and why. */
  @Get()
  @Needs('inventory:read')
  async listOwnNames(): Promise<OwnNamesView> {
    return OwnNamesView.of(await this.names.list());
  }

  /** Teaches what a name of an algorithm stands for, in place of what was taught before; everything is then judged anew in the background. */
  @Put()
  @HttpCode(HttpStatus.ACCEPTED)
  @Needs('inventory:write')
  async teachName(@TheCaller() caller: Caller, @Body() body: OwnNameBody): Promise<ReclassificationView> {
    return ReclassificationView.of(await this.names.teach(caller, body));
  }

  /** Forgets a name; everything is then judged anew in the background. */
  @Delete()
  @HttpCode(HttpStatus.ACCEPTED)
  @Needs('inventory:write')
  async forgetName(@TheCaller() caller: Caller, @Query() { name }: OwnNameQuery): Promise<ReclassificationView> {
    return ReclassificationView.of(await this.names.forget(caller, name));
  }
}
