import { Controller, Get, Header, HttpCode, Post, Req, UnsupportedMediaTypeException } from '@nestjs/common';
import { ApiConsumes, ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Needs, Public, TheCaller } from '../../auth/access.js';
import type { Caller } from '../../auth/caller.js';
import { TimestampDesk } from './timestamp-desk.js';
import { TIMESTAMP_QUERY, TIMESTAMP_REPLY } from './timestamping.http.js';

@ApiTags('Timestamps')
@Controller('tsa')
export class TimestampingController {
  constructor(private readonly desk: TimestampDesk) {}

  /** Issues a timestamp (RFC 3161). What is refused is answered with HTTP 200 and a PKIStatus of rejection. */
  @Post()
  @HttpCode(200)
  @Header('content-type', TIMESTAMP_REPLY)
  @Needs('timestamps:issue')
  @ApiConsumes(TIMESTAMP_QUERY)
  @ApiProduces(TIMESTAMP_REPLY)
  async issueTimestamp(@TheCaller() caller: Caller, @Req() request: FastifyRequest): Promise<Buffer> {
    if (!Buffer.isBuffer(request.body)) throw new UnsupportedMediaTypeException();
    return this.desk.answer(caller, request.body);
  }

  /** The chain to verify timestamps against, PEM. */
  @Get('chain.pem')
  @Public()
  @Header('content-type', 'application/x-pem-file')
  @ApiProduces('application/x-pem-file')
  @ApiOkResponse({ schema: { type: 'string', example: '-----BEGIN CERTIFICATE-----' } })
  timestampChain(): Promise<string> {
    return this.desk.chain();
  }
}
