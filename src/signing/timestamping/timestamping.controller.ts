import { Controller, Get, Header, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiConsumes, ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs, Public, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { RawBody, TakesRaw, TheRawBody } from '../../platform/http/bodies/raw-body.js';
import { TimestampAdmission, MAX_QUERY_BYTES, TIMESTAMP_QUERY, TIMESTAMP_REPLY } from './timestamping.http.js';
import { TsaResponder } from './tsa-responder.js';
import { TimestampKeyParam } from './timestamping.dto.js';

@ApiTags('Timestamps')
@Controller('tsa')
export class TimestampingController {
  constructor(
    private readonly responder: TsaResponder,
    private readonly admission: TimestampAdmission,
  ) {}

  /**
   * Issue a timestamp
   * @remarks Issues an RFC 3161 timestamp. A rejected query returns HTTP 200 with the PKIStatus `rejection`.
   */
  @Post()
  @HttpCode(200)
  @Header('content-type', TIMESTAMP_REPLY)
  @Needs('timestamps:issue')
  @TakesRaw(MAX_QUERY_BYTES, [TIMESTAMP_QUERY])
  @ApiConsumes(TIMESTAMP_QUERY)
  @ApiProduces(TIMESTAMP_REPLY)
  async issueTimestamp(
    @TheCaller() caller: Caller,
    @TheRawBody() { bytes }: RawBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    await this.admission.admit(caller, reply);
    return this.responder.answer(caller, bytes);
  }

  /**
   * Issue a timestamp by key
   * @remarks Issues an RFC 3161 timestamp to a client that cannot send credentials in a header. The URL contains an API key that is limited to timestamps.
   */
  @Post(':key')
  @HttpCode(200)
  @Header('content-type', TIMESTAMP_REPLY)
  @Needs('timestamps:issue')
  @TakesRaw(MAX_QUERY_BYTES, [TIMESTAMP_QUERY])
  @ApiConsumes(TIMESTAMP_QUERY)
  @ApiProduces(TIMESTAMP_REPLY)
  async issueTimestampByKey(
    @TheCaller() caller: Caller,
    @Param() { key }: TimestampKeyParam,
    @TheRawBody() { bytes }: RawBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    await this.admission.admitByPath(caller, key, reply);
    return this.responder.answer(caller, bytes);
  }

  /**
   * Get the timestamp chain
   * @remarks Returns the timestamp authority's certificate chain (PEM), which is needed to verify timestamps.
   */
  @Get('chain.pem')
  @Public()
  @Header('content-type', 'application/x-pem-file')
  @ApiProduces('application/x-pem-file')
  @ApiOkResponse({ schema: { type: 'string', example: '-----BEGIN CERTIFICATE-----' } })
  timestampChain(): Promise<string> {
    return this.responder.chain();
  }
}
