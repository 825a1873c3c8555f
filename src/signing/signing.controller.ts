import { Body, Controller, Get, Headers, HttpStatus, Param, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs, TheCaller } from '../access/access.js';
import type { Caller } from '../access/caller.js';
import { answerEvents, EventStream } from '../platform/http/event-stream.js';
import { IdParam } from '../platform/http/id-param.js';
import { IDEMPOTENCY_KEY } from '../platform/http/idempotency-keys.js';
import {
  SignDigestBody,
  SigningRequestPage,
  SigningRequestsQuery,
  SigningRequestView,
  WaitQuery,
} from './signing-requests.dto.js';
import { SigningRequestListReader } from './requests/signing-request-list.reader.js';
import { RequestWatch, SigningRequestsReader } from './requests/signing-requests.reader.js';
import { SigningService } from './requests/signing.service.js';

const EVENT_EXAMPLE = 'event: status\nid: SIGNED\ndata: {"status":"SIGNED"}\n\n';

@ApiTags('Signing')
@Controller('api/v1/sign')
export class SigningController {
  constructor(
    private readonly signing: SigningService,
    private readonly requests: SigningRequestsReader,
    private readonly lists: SigningRequestListReader,
    private readonly watch: RequestWatch,
  ) {}

  /**
   * Sign a digest
   * @remarks Returns 200 with the signature, or 202 with a request to poll if approval is needed or `async` is set.
   */
  @Post('digest')
  @Needs('sign:digest')
  @ApiHeader(IDEMPOTENCY_KEY)
  @ApiOkResponse({ type: SigningRequestView, description: 'Signed' })
  @ApiAcceptedResponse({ type: SigningRequestView, description: 'Accepted; poll the Location' })
  async signDigest(
    @TheCaller() caller: Caller,
    @Body() body: SignDigestBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') key?: string,
  ): Promise<SigningRequestView> {
    const request = await this.signing.submit(caller, body.toOrder(key));
    void reply.header('location', `/api/v1/sign/requests/${request.id}`);
    void reply.status(request.status === 'SIGNED' ? HttpStatus.OK : HttpStatus.ACCEPTED);
    return SigningRequestView.of(request);
  }

  /**
   * List signing requests
   * @remarks Returns your signing requests, newest first. With `audit:read`, returns the requests of all callers. Filters can be combined.
   */
  @Get('requests')
  @Needs('sign:read')
  async listSigningRequests(
    @TheCaller() caller: Caller,
    @Query() query: SigningRequestsQuery,
  ): Promise<SigningRequestPage> {
    return SigningRequestPage.of(await this.lists.list(caller, query));
  }

  /**
   * Follow a signing request
   * @remarks Sends server-sent events with the current state of the request and each later change, until the request is final.
   */
  @Get('requests/:id/events')
  @Needs('sign:read')
  @EventStream('request', EVENT_EXAMPLE)
  async followSigningRequest(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const read = () => this.requests.follow(caller, id, (request) => SigningRequestView.of(request));
    await answerEvents(reply, this.watch.rows, read);
  }

  /**
   * Get a signing request
   * @remarks Returns a signing request. With `wait`, responds as soon as the request is final.
   */
  @Get('requests/:id')
  @Needs('sign:read')
  async getSigningRequest(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Query() { wait }: WaitQuery,
  ): Promise<SigningRequestView> {
    return SigningRequestView.of(await this.requests.find(caller, id, wait));
  }
}
