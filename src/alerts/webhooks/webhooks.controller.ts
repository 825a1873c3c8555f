import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { IdParam } from '../../platform/http/id-param.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { WebhookDeliveriesService } from './webhook-deliveries.service.js';
import { WebhookEndpointsService } from './webhook-endpoints.service.js';
import {
  ChangeWebhookBody,
  CreateWebhookBody,
  NewWebhookView,
  RotateWebhookSecretBody,
  TestWebhookBody,
  WebhookDeliveriesQuery,
  WebhookDeliveryPage,
  WebhookDeliveryView,
  WebhookList,
  WebhookView,
} from './webhooks.dto.js';

@ApiTags('Webhooks')
@Controller('api/webhooks')
@UseInterceptors(VersionInterceptor)
export class WebhooksController {
  constructor(
    private readonly endpoints: WebhookEndpointsService,
    private readonly deliveries: WebhookDeliveriesService,
  ) {}

  /**
   * Create a webhook
   * @remarks Creates a webhook endpoint and returns its signing secret, which cannot be retrieved again.
   */
  @Post()
  @Needs('webhooks:write')
  @Fresh()
  async createWebhook(
    @TheCaller() caller: Caller,
    @Body() body: CreateWebhookBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<NewWebhookView> {
    const { row, secret } = await this.endpoints.create(caller, body.toOrder(), use);
    return NewWebhookView.withSecret(row, secret);
  }

  /**
   * List webhooks
   * @remarks Returns webhook endpoints, sorted by name, without their secrets.
   */
  @Get()
  @Needs('webhooks:read')
  async listWebhooks(): Promise<WebhookList> {
    return { items: (await this.endpoints.list()).map((row) => WebhookView.of(row)) };
  }

  /**
   * Get a webhook
   * @remarks Returns a webhook endpoint.
   */
  @Get(':id')
  @Needs('webhooks:read')
  async getWebhook(@Param() { id }: IdParam): Promise<WebhookView> {
    return WebhookView.of(await this.endpoints.get(id));
  }

  /**
   * Update a webhook
   * @remarks Changes a webhook endpoint.
   */
  @Patch(':id')
  @Needs('webhooks:write')
  @Fresh()
  async changeWebhook(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeWebhookBody,
    @ExpectedVersion() version: number,
  ): Promise<WebhookView> {
    return WebhookView.of(await this.endpoints.change(caller, id, version, body));
  }

  /**
   * Delete a webhook
   * @remarks Deletes a webhook endpoint and discards its pending messages.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('webhooks:write')
  @Fresh()
  async removeWebhook(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.endpoints.remove(caller, id);
  }

  /**
   * Rotate a webhook secret
   * @remarks Returns a new signing secret. Messages are signed with both secrets for a limited time.
   */
  @Post(':id/secret')
  @Needs('webhooks:write')
  @Fresh()
  async rotateWebhookSecret(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { overlapHours = 24 }: RotateWebhookSecretBody,
  ): Promise<NewWebhookView> {
    const { row, secret } = await this.endpoints.rotateSecret(caller, id, overlapHours);
    return NewWebhookView.withSecret(row, secret);
  }

  /**
   * Test a webhook
   * @remarks Sends a test message or an example event, and returns the delivery.
   */
  @Post(':id/test')
  @HttpCode(202)
  @Needs('webhooks:write')
  @ApiBody({ type: TestWebhookBody, required: false })
  async testWebhook(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() { type }: TestWebhookBody,
  ): Promise<WebhookDeliveryView> {
    const { id: endpoint } = await this.endpoints.get(id);
    return WebhookDeliveryView.of(await this.deliveries.test(caller, endpoint, type));
  }

  /**
   * List webhook deliveries
   * @remarks Returns the messages to a webhook endpoint, newest first, with every attempt.
   */
  @Get(':id/deliveries')
  @Needs('webhooks:read')
  async listWebhookDeliveries(
    @Param() { id }: IdParam,
    @Query() query: WebhookDeliveriesQuery,
  ): Promise<WebhookDeliveryPage> {
    return WebhookDeliveryPage.of(await this.deliveries.list(id, query));
  }

  /**
   * Redeliver a webhook message
   * @remarks Sends a delivered or discarded message again, with the same ID.
   */
  @Post('deliveries/:id/redeliver')
  @HttpCode(202)
  @Needs('webhooks:write')
  async redeliverWebhook(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<WebhookDeliveryView> {
    return WebhookDeliveryView.of(await this.deliveries.redeliver(caller, id));
  }
}
