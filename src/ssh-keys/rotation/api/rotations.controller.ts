import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Fresh, Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { Repeatable } from '../../../access/repeatable.js';
import { answerEvents, EventStream } from '../../../platform/http/event-stream.js';
import { assertId, IdParam } from '../../../platform/http/id-param.js';
import { PageQuery } from '../../../platform/http/page.js';
import type { IdempotentUse } from '../../../platform/http/idempotency-keys.js';
import { KeyRelease } from '../custody/key-release.js';
import { RotationActions } from '../rollout/rotation-actions.js';
import { RotationOrders } from '../rollout/rotation-flow.js';
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

  /**
   * Rotate an SSH key
   * @remarks Replaces an SSH key with a new key on all hosts that accept the old key. `Location` contains the URL of the rotation.
   */
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

  /**
   * Release a private SSH key
   * @remarks Returns the private key of an SSH key that the service holds. For a replaced key, returns the private key of its current successor.
   */
  @Post('keys/:id/private-key')
  @HttpCode(200)
  @Needs('keys:release')
  @Fresh()
  async releaseSshKey(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<ReleasedKeyView> {
    return ReleasedKeyView.of(await this.release.release(caller, id));
  }

  /**
   * List rotations
   * @remarks Returns rotations, newest first.
   */
  @Get('rotations')
  @Needs('keys:read')
  async listRotations(@Query() query: RotationsQuery): Promise<RotationPage> {
    return RotationPage.of(await this.reader.list(query));
  }

  /**
   * Get a rotation
   * @remarks Returns a rotation with its progress.
   */
  @Get('rotations/:id')
  @Needs('keys:read')
  async getRotation(@Param() { id }: IdParam): Promise<RotationView> {
    return this.shown(id);
  }

  /**
   * List rotation targets
   * @remarks Returns the accounts in a rotation, each with the file changes and with every step and the host's response.
   */
  @Get('rotations/:id/targets')
  @Needs('keys:read')
  async listRotationTargets(@Param() { id }: IdParam, @Query() query: PageQuery): Promise<RotationTargetPage> {
    return RotationTargetPage.of(await this.reader.targets(id, query));
  }

  /**
   * Skip a rotation target
   * @remarks Skips an account that has not been changed yet.
   */
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

  /**
   * Retry a rotation
   * @remarks Resumes a halted rotation and repeats the failed steps.
   */
  @Post('rotations/:id/retry')
  @HttpCode(202)
  @Needs('keys:rotate')
  async retryRotation(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<RotationView> {
    await this.actions.retry(caller, id);
    return this.shown(id);
  }

  /**
   * Roll back a rotation
   * @remarks Removes the new key from all hosts. A rotation can be rolled back until the new key has been handed over.
   */
  @Post('rotations/:id/rollback')
  @HttpCode(202)
  @Needs('keys:rotate')
  async rollBackRotation(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<RotationView> {
    await this.actions.rollBack(caller, id);
    return this.shown(id);
  }

  /**
   * Confirm a rotation
   * @remarks Confirms that the holder has used the new key. A login with the new key in a host's log also confirms the rotation.
   */
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

  /**
   * Follow a rotation
   * @remarks Sends server-sent events with the current state of the rotation and the progress of the targets, until the rotation ends.
   */
  @Get(':id/events')
  @Needs('keys:read')
  @EventStream('rotation', EVENT_EXAMPLE)
  async followRotation(@Param() { id }: IdParam, @Res() reply: FastifyReply): Promise<void> {
    await answerEvents(reply, this.reader.watch, () => this.reader.follow(id, (shown) => RotationView.of(shown)));
  }
}
