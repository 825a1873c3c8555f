import { Body, Controller, Get, HttpCode, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../access/access.js';
import type { Caller } from '../access/caller.js';
import { IdParam } from '../platform/http/id-param.js';
import { ExpectedVersion, VersionInterceptor } from '../platform/http/versions.js';
import {
  AlertCommentBody,
  AlertPage,
  AlertsQuery,
  AlertView,
  ChangeAlertBody,
  NotificationList,
} from './alerts.dto.js';
import { AlertsReader } from './alerts.reader.js';
import { AlertsService } from './alerts.service.js';
import { SentList } from './rules/alert-rules.dto.js';

@ApiTags('Alerts')
@Controller('api/alerts')
@UseInterceptors(VersionInterceptor)
export class AlertsController {
  constructor(
    private readonly alerts: AlertsService,
    private readonly reader: AlertsReader,
  ) {}

  /**
   * List alerts
   * @remarks Returns alerts, newest first.
   */
  @Get()
  @Needs('alerts:read')
  async listAlerts(@Query() query: AlertsQuery): Promise<AlertPage> {
    return AlertPage.of(await this.reader.list(query));
  }

  /**
   * Get an alert
   * @remarks Returns an alert.
   */
  @Get(':id')
  @Needs('alerts:read')
  async getAlert(@Param() { id }: IdParam): Promise<AlertView> {
    return AlertView.of(await this.reader.get(id));
  }

  /**
   * List alert notifications
   * @remarks Returns the recipients of an alert and the delivery status of each email and webhook message.
   */
  @Get(':id/notifications')
  @Needs('alerts:read')
  async listAlertNotifications(@Param() { id }: IdParam): Promise<NotificationList> {
    return { items: await this.reader.notifications((await this.reader.get(id)).id) };
  }

  /**
   * Update an alert
   * @remarks Sets the owner of an alert, or mutes the alert.
   */
  @Patch(':id')
  @Needs('alerts:write')
  async changeAlert(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeAlertBody,
    @ExpectedVersion() version: number,
  ): Promise<AlertView> {
    return AlertView.of(await this.alerts.change(caller, id, version, body.toChange()));
  }

  /**
   * Acknowledge an alert
   * @remarks Marks an alert as being handled. No further notifications are sent while the alert is acknowledged.
   */
  @Post(':id/acknowledge')
  @HttpCode(200)
  @Needs('alerts:write')
  async acknowledgeAlert(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { comment }: AlertCommentBody,
  ): Promise<AlertView> {
    return AlertView.of(await this.alerts.move(caller, id, 'acknowledge', comment));
  }

  /**
   * Resolve an alert
   * @remarks Resolves an alert. The alert reopens if its condition occurs again.
   */
  @Post(':id/resolve')
  @HttpCode(200)
  @Needs('alerts:write')
  async resolveAlert(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { comment }: AlertCommentBody,
  ): Promise<AlertView> {
    return AlertView.of(await this.alerts.move(caller, id, 'resolve', comment));
  }

  /**
   * Reopen an alert
   * @remarks Reverts the acknowledgement or the resolution of an alert.
   */
  @Post(':id/reopen')
  @HttpCode(200)
  @Needs('alerts:write')
  async reopenAlert(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { comment }: AlertCommentBody,
  ): Promise<AlertView> {
    return AlertView.of(await this.alerts.move(caller, id, 'reopen', comment));
  }

  /**
   * Resend alert notifications
   * @remarks Resends an alert's notifications through every channel of the alert rule.
   */
  @Post(':id/notify')
  @HttpCode(202)
  @Needs('alerts:write')
  async notifyAlert(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<SentList> {
    return SentList.of(await this.alerts.notify(caller, id));
  }
}
