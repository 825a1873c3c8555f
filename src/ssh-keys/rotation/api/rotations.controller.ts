import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { Repeatable } from '../../../access/repeatable.js';
import { answerEvents } from '../../../platform/http/event-stream.js';
import { assertId, IdParam } from '../../../platform/http/id-param.js';
import { PageQuery } from '../../../platform/http/page.js';
import type { IdempotentUse } from '../../../platform/idempotency/idempotency-keys.js';
import { KeyRelease } from '../custody/key-release.js';
import { RotationActions } from '../rollout/rotation-actions.js';
import { RotationOrders } from '../rotation-flow.js';
import { ReleasedKeyView, RotationPage, RotationTargetPage, RotationView } from './rotation-views.dto.js';
import { RotateSshKeyBody, RotationsQuery } from './rotations.dto.js';
import { RotationsReader } from './rotations.reader.js';

const EVENT_EXAMPLE = 'event: status\nid: RUNNING 0 - PLANNED=20\ndata: {"status":"RUNNING"}\n\n';

@ApiTags('SSH key rotation')
@Controller('v1')
export class RotationsController {
  constructor(
    private readonly orders: RotationOrders,
    private readonly actions: RotationActions,
    private readonly reader: RotationsReader,
    private readonly release: KeyRelease,
  ) {}

  /** Puts a new key in the place of this one, wherever it lets somebody in. Location is the rotation. */
  @Post('keys/:id/rotate')
  @HttpCode(202)
  @Needs('keys:rotate')
  @Fresh()
  async rotateSshKey(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: RotateSshKeyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Repeatable() use?: IdempotentUse,
  ): Promise<RotationView> {
    const { custody, publicKey, targets, dryRun = false } = body;
    const order = { keyId: id, custody, publicKey, targets, dryRun, settings: RotateSshKeyBody.settingsOf(body) };
    const rotationId = await this.orders.place(caller, order, use);
    void reply.header('location', `/v1/rotations/${rotationId}`);
    return this.shown(rotationId);
  }

  /** Hands out the private half of a key that the service holds: of the one that is in force in its place now. */
  @Post('keys/:id/private-key')
  @HttpCode(200)
  @Needs('keys:release')
  @Fresh()
  async releaseSshKey(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<ReleasedKeyView> {
    return ReleasedKeyView.of(await this.release.release(caller, id));
  }

  /** Lists rotations, newest first. */
  @Get('rotations')
  @Needs('keys:read')
  async listRotations(@Query() query: RotationsQuery): Promise<RotationPage> {
    return RotationPage.of(await this.reader.list(query));
  }

  /** Shows a rotation and how far it is. */
  @Get('rotations/:id')
  @Needs('keys:read')
  async getRotation(@Param() { id }: IdParam): Promise<RotationView> {
    return this.shown(id);
  }

  /** Lists the accounts of a rotation: what changes in which file, and every step with what the host said. */
  @Get('rotations/:id/targets')
  @Needs('keys:read')
  async listRotationTargets(@Param() { id }: IdParam, @Query() query: PageQuery): Promise<RotationTargetPage> {
    return RotationTargetPage.of(await this.reader.targets(id, query));
  }

  /** Leaves an account out that nothing was changed on. */
  @Post('rotations/:id/targets/:targetId/skip')
  @HttpCode(200)
  @Needs('keys:rotate')
  async skipRotationTarget(
    @TheCaller() caller: Caller,
    @Param('id') id: string,
    @Param('targetId') targetId: string,
  ): Promise<RotationView> {
    await this.actions.skip(caller, assertId(id), assertId(targetId));
    return this.shown(id);
  }

  /** Goes on with a halted rotation: what failed is tried again. */
  @Post('rotations/:id/retry')
  @HttpCode(202)
  @Needs('keys:rotate')
  async retryRotation(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<RotationView> {
    await this.actions.retry(caller, id);
    return this.shown(id);
  }

  /** Takes the new key away again, everywhere. Possible until it was handed over. */
  @Post('rotations/:id/rollback')
  @HttpCode(202)
  @Needs('keys:rotate')
  async rollBackRotation(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<RotationView> {
    await this.actions.rollBack(caller, id);
    return this.shown(id);
  }

  /** Says that the holder of the new key has used it. A login that a host's log shows says so too. */
  @Post('rotations/:id/confirm')
  @HttpCode(202)
  @Needs('keys:rotate')
  async confirmRotation(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<RotationView> {
    await this.actions.confirm(caller, id);
    return this.shown(id);
  }

  private async shown(id: string): Promise<RotationView> {
    return RotationView.of(await this.reader.get(id));
  }
}

@ApiTags('SSH key rotation')
@Controller('v1/rotations')
export class RotationEventsController {
  constructor(private readonly reader: RotationsReader) {}

  /** Tells of a rotation as server-sent events: as it is, then how far its targets are, until it is over. */
  @Get(':id/events')
  @Needs('keys:read')
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    schema: { type: 'string', example: EVENT_EXAMPLE },
    description: 'Events with the rotation as data',
  })
  async followRotation(@Param() { id }: IdParam, @Res() reply: FastifyReply): Promise<void> {
    await answerEvents(reply, this.reader.watch, () => this.reader.follow(id, (shown) => RotationView.of(shown)));
  }
}
