import { Body, Controller, Get, Headers, HttpStatus, Param, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { IdParam } from '../../platform/http/id-param.js';
import { TakesJson } from '../../platform/http/bodies/json-body.js';
import { IDEMPOTENCY_KEY } from '../../platform/http/idempotency-keys.js';
import { WaitQuery } from '../signing-requests.dto.js';
import { DualSignaturesService, SigningBatchesService } from './signing-batches.service.js';
import { MAX_BATCH_ITEMS, SignBatchBody, SignDualBody, SigningBatchView } from './signing-batches.dto.js';
import { SigningBatchesReader } from './signing-batches.reader.js';

/** Body limits: each item contains at most a digest, a reference and 1 KB of metadata. */
const LIMITS = { bytes: MAX_BATCH_ITEMS * 2048, values: MAX_BATCH_ITEMS * 40, scope: 'sign:digest' };

@ApiTags('Signing')
@Controller('api/v1/sign')
export class SigningBatchesController {
  constructor(
    private readonly batches: SigningBatchesService,
    private readonly dual: DualSignaturesService,
    private readonly reader: SigningBatchesReader,
  ) {}

  /**
   * Sign a batch
   * @remarks Signs up to 1,000 digests with one key and returns a result for each digest. Returns 200 if all results are final, otherwise 202 with a batch to
   * poll.
   */
  @Post('batch')
  @Needs('sign:digest')
  @TakesJson(LIMITS)
  @ApiHeader(IDEMPOTENCY_KEY)
  @ApiOkResponse({ type: SigningBatchView, description: 'All items have a final result' })
  @ApiAcceptedResponse({ type: SigningBatchView, description: 'Accepted; poll the Location' })
  async signBatch(
    @TheCaller() caller: Caller,
    @Body() body: SignBatchBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') key?: string,
  ): Promise<SigningBatchView> {
    const shown = await this.batches.submit(caller, body.toOrder(key));
    void reply.header('location', `/api/v1/sign/batches/${shown.batch.id}`);
    void reply.status(shown.done ? HttpStatus.OK : HttpStatus.ACCEPTED);
    return SigningBatchView.of(shown);
  }

  /**
   * Sign with two keys
   * @remarks Signs one digest with two keys, one RSA or EC and one ML-DSA, so that the signature remains valid if either algorithm is broken.
   */
  @Post('dual')
  @Needs('sign:digest')
  @ApiHeader(IDEMPOTENCY_KEY)
  @ApiOkResponse({ type: SigningBatchView, description: 'Both requests have a final result' })
  @ApiAcceptedResponse({ type: SigningBatchView, description: 'Accepted; poll the Location' })
  async signDual(
    @TheCaller() caller: Caller,
    @Body() body: SignDualBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') key?: string,
  ): Promise<SigningBatchView> {
    const shown = await this.dual.submit(caller, body.toOrder(key));
    void reply.header('location', `/api/v1/sign/batches/${shown.batch.id}`);
    void reply.status(shown.done ? HttpStatus.OK : HttpStatus.ACCEPTED);
    return SigningBatchView.of(shown);
  }

  /**
   * Get a signing batch
   * @remarks Returns a batch with the result of each item. With `wait`, responds as soon as all items are final.
   */
  @Get('batches/:id')
  @Needs('sign:read')
  async getSigningBatch(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Query() { wait }: WaitQuery,
  ): Promise<SigningBatchView> {
    return SigningBatchView.of(await this.reader.find(caller, id, wait));
  }
}
