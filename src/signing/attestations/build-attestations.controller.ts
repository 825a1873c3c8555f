import { Body, Controller, Get, Headers, HttpStatus, Param, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { IdParam } from '../../platform/http/id-param.js';
import { IDEMPOTENCY_KEY } from '../../platform/http/idempotency-keys.js';
import { WaitQuery } from '../signing-requests.dto.js';
import { BuildAttestationBody, BuildAttestationView } from './build-attestations.dto.js';
import { BuildAttestationsService } from './build-attestations.service.js';

@ApiTags('Signing')
@Controller('api/v1/sign')
export class BuildAttestationsController {
  constructor(private readonly attestations: BuildAttestationsService) {}

  /**
   * Attest a build
   * @remarks Creates a SLSA v1 provenance attestation (DSSE) for the files in `subjects`, based on the verified claims of the caller's token.
   * Returns 200, or 202 with a request to poll.
   */
  @Post('attestation')
  @Needs('sign:digest')
  @ApiHeader(IDEMPOTENCY_KEY)
  @ApiOkResponse({ type: BuildAttestationView, description: 'Signed' })
  @ApiAcceptedResponse({ type: BuildAttestationView, description: 'Accepted; poll the Location' })
  async attestBuild(
    @TheCaller() caller: Caller,
    @Body() body: BuildAttestationBody,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Headers('idempotency-key') key?: string,
  ): Promise<BuildAttestationView> {
    const shown = await this.attestations.attest(caller, body.toOrder(key));
    void reply.header('location', `/api/v1/sign/attestations/${shown.request.id}`);
    void reply.status(shown.made === undefined ? HttpStatus.ACCEPTED : HttpStatus.OK);
    return BuildAttestationView.of(shown);
  }

  /**
   * Get a build attestation
   * @remarks Returns an attestation by its request ID. With `wait`, responds as soon as the request is final.
   */
  @Get('attestations/:id')
  @Needs('sign:read')
  async getBuildAttestation(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Query() { wait }: WaitQuery,
  ): Promise<BuildAttestationView> {
    return BuildAttestationView.of(await this.attestations.find(caller, id, wait));
  }
}
