import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { AlertRuleList, AlertRuleView, ChangeAlertRuleBody, CreateAlertRuleBody, SentList } from './alert-rules.dto.js';
import { AlertRulesService } from './alert-rules.service.js';

@ApiTags('Alerts')
@Controller('api/alert-rules')
@UseInterceptors(VersionInterceptor)
export class AlertRulesController {
  constructor(private readonly rules: AlertRulesService) {}

  /**
   * Create an alert rule
   * @remarks Creates a rule that opens alerts and notifies its recipients.
   */
  @Post()
  @Needs('alerts:write')
  async createAlertRule(
    @TheCaller() caller: Caller,
    @Body() body: CreateAlertRuleBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<AlertRuleView> {
    return AlertRuleView.of(await this.rules.create(caller, body.toOrder(), use));
  }

  /**
   * List alert rules
   * @remarks Returns alert rules, sorted by name.
   */
  @Get()
  @Needs('alerts:read')
  async listAlertRules(): Promise<AlertRuleList> {
    return { items: (await this.rules.list()).map((rule) => AlertRuleView.of(rule)) };
  }

  /**
   * Get an alert rule
   * @remarks Returns an alert rule.
   */
  @Get(':id')
  @Needs('alerts:read')
  async getAlertRule(@Param() { id }: IdParam): Promise<AlertRuleView> {
    return AlertRuleView.of(await this.rules.get(id));
  }

  /**
   * Update an alert rule
   * @remarks Changes, mutes, enables or disables an alert rule. Predefined rules also require `settings:write`.
   */
  @Patch(':id')
  @Needs('alerts:write')
  async changeAlertRule(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeAlertRuleBody,
    @ExpectedVersion() version: number,
  ): Promise<AlertRuleView> {
    return AlertRuleView.of(await this.rules.change(caller, id, version, body.toChange()));
  }

  /**
   * Delete an alert rule
   * @remarks Deletes an alert rule and resolves its alerts. Predefined rules also require `settings:write`.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('alerts:write')
  async removeAlertRule(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.rules.remove(caller, id);
  }

  /**
   * Test an alert rule
   * @remarks Sends an example notification through every channel of the rule.
   */
  @Post(':id/test')
  @HttpCode(202)
  @Needs('alerts:write')
  async testAlertRule(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<SentList> {
    return SentList.of(await this.rules.test(caller, id));
  }
}
