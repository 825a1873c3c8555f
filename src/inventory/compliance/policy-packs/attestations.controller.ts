import { Body, Controller, Get, Header, HttpCode, HttpStatus, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { Repeatable } from '../../../access/repeatable.js';
import { IdParam } from '../../../platform/http/id-param.js';
import type { IdempotentUse } from '../../../platform/http/idempotency-keys.js';
import { Clock } from '../../../platform/work/clock.js';
import { AttestationPage, AttestationView, EvaluationView } from './attestation-views.dto.js';
import { AttestationsQuery, AttestBody, EvaluateBody, SigningKeyQuery } from './attestations.dto.js';
import { AttestationsService } from './attestations.service.js';
import { declarationsOf, SignedDeclarations } from './declarations.js';
import { PolicyJudge } from './policy-judge.service.js';

@ApiTags('Inventory')
@Controller('api/attestations')
export class AttestationsController {
  constructor(
    private readonly judge: PolicyJudge,
    private readonly attestations: AttestationsService,
    private readonly signedDeclarations: SignedDeclarations,
    private readonly clock: Clock,
  ) {}

  /**
   * Evaluate a policy pack
   * @remarks Evaluates the inventory against a policy pack as of a given date. The result is not stored.
   */
  @Post('evaluations')
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:read')
  async evaluatePolicy(@Body() body: EvaluateBody): Promise<EvaluationView> {
    return EvaluationView.of(await this.judge.evaluate(body.toOrder()));
  }

  /**
   * Create an attestation
   * @remarks Records the inventory's compliance with a policy pack, with the assessor, the evidence and the expiration time.
   */
  @Post()
  @Needs('inventory:write')
  async attest(
    @TheCaller() caller: Caller,
    @Body() body: AttestBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<AttestationView> {
    return AttestationView.ofRow(await this.attestations.attest(caller, body.toAttest(), use), this.clock.now());
  }

  /**
   * List attestations
   * @remarks Returns attestations, newest first.
   */
  @Get()
  @Needs('inventory:read')
  async listAttestations(@Query() { pack, limit, cursor }: AttestationsQuery): Promise<AttestationPage> {
    return AttestationPage.of(await this.attestations.list(pack, limit, cursor), this.clock.now());
  }

  /**
   * Get an attestation
   * @remarks Returns an attestation with its claims and evidence.
   */
  @Get(':id')
  @Needs('inventory:read')
  async getAttestation(@Param() { id }: IdParam): Promise<AttestationView> {
    return AttestationView.ofRow(await this.attestations.find(id), this.clock.now());
  }

  /**
   * Export an attestation
   * @remarks Returns an attestation as CycloneDX 1.6 declarations.
   */
  @Get(':id/cyclonedx')
  @Needs('inventory:read')
  @Header('content-type', 'application/vnd.cyclonedx+json; version=1.6')
  @ApiProduces('application/vnd.cyclonedx+json')
  @ApiOkResponse({
    schema: {
      type: 'object',
      additionalProperties: true,
      example: { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, declarations: {} },
    },
    description: 'A CycloneDX 1.6 document',
  })
  async exportAttestation(@Param() { id }: IdParam): Promise<object> {
    return declarationsOf(await this.attestations.find(id));
  }

  /**
   * Export a signed attestation
   * @remarks Returns an attestation with an embedded signature (JSF) created with a signing key. Each call creates a new signature.
   */
  @Post(':id/cyclonedx')
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:read', 'sign:digest')
  @Header('content-type', 'application/vnd.cyclonedx+json; version=1.6')
  @ApiProduces('application/vnd.cyclonedx+json')
  @ApiOkResponse({
    schema: {
      type: 'object',
      additionalProperties: true,
      example: { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, declarations: {}, signature: {} },
    },
    description: 'A signed CycloneDX 1.6 document',
  })
  exportSignedAttestation(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Query() { key }: SigningKeyQuery,
  ): Promise<object> {
    return this.signedDeclarations.of(caller, id, key);
  }
}
