import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../platform/http/id-param.js';
import { NamedPageQuery } from '../../platform/http/page.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { ExpectedVersion, VersionInterceptor } from '../../platform/http/versions.js';
import { Fresh, Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { Repeatable } from '../../access/repeatable.js';
import { Clock } from '../../platform/work/clock.js';
import { ruleOf } from '../credentials/certificates/certificate-rule.js';
import { ClientCertificatesBody, certificateOrderOf } from '../credentials/certificates/client-certificates.dto.js';
import { ClientKeys } from './client-keys.js';
import { OAuthClientChangesService } from './oauth-client-changes.service.js';
import {
  ChangeOAuthClientBody,
  CreateOAuthClientBody,
  NewOAuthClientView,
  OAuthClientKeysBody,
  OAuthClientPage,
  OAuthClientView,
} from './oauth-clients.dto.js';
import { OAuthClientsService } from './oauth-clients.service.js';

@ApiTags('Settings')
@UseInterceptors(VersionInterceptor)
@Controller('api/settings/oauth-clients')
export class OAuthClientsController {
  constructor(
    private readonly clients: OAuthClientsService,
    private readonly changes: OAuthClientChangesService,
    private readonly keys: ClientKeys,
    private readonly clock: Clock,
  ) {}

  /**
   * Create an OAuth client
   * @remarks Creates an OAuth client and returns the client secret, which cannot be retrieved again. Clients with keys or certificates have no secret.
   */
  @Post()
  @Needs('settings:write')
  @Fresh()
  async createOAuthClient(
    @TheCaller() caller: Caller,
    @Body() body: CreateOAuthClientBody,
    @Repeatable() use?: IdempotentUse,
  ): Promise<NewOAuthClientView> {
    const { keys, certificates } = body.proofSource();
    const proof = {
      ...(keys === undefined ? {} : { keys: await this.keys.read(keys) }),
      ...(certificates === undefined ? {} : { certificates: ruleOf(certificates, this.clock.now()) }),
    };
    const { row, secret } = await this.clients.create(caller, body.toOrder(proof), use);
    return NewOAuthClientView.withSecret(row, secret);
  }

  /**
   * List OAuth clients
   * @remarks Returns OAuth clients, newest first.
   */
  @Get()
  @Needs('settings:read')
  async listOAuthClients(@Query() query: NamedPageQuery): Promise<OAuthClientPage> {
    return OAuthClientPage.of(await this.clients.list(query));
  }

  /**
   * Get an OAuth client
   * @remarks Returns an OAuth client without its secret, with its ETag.
   */
  @Get(':id')
  @Needs('settings:read')
  async getOAuthClient(@Param() { id }: IdParam): Promise<OAuthClientView> {
    return OAuthClientView.of(await this.clients.get(id));
  }

  /**
   * Update an OAuth client
   * @remarks Changes the name or the signing keys of an OAuth client, or removes permissions. Every process applies the change within five seconds,
   * including to tokens that were issued before the change.
   */
  @Patch(':id')
  @Needs('settings:write')
  @Fresh()
  async changeOAuthClient(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ChangeOAuthClientBody,
    @ExpectedVersion() version: number,
  ): Promise<OAuthClientView> {
    return OAuthClientView.of(await this.changes.change(caller, id, version, body.toChange()));
  }

  /**
   * Replace a client secret
   * @remarks Returns a new secret. The previous secret is invalidated and the client's tokens are revoked.
   */
  @Post(':id/secret')
  @Needs('settings:write')
  @Fresh()
  async replaceOAuthClientSecret(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<NewOAuthClientView> {
    const { row, secret } = await this.clients.replaceSecret(caller, id);
    return NewOAuthClientView.withSecret(row, secret);
  }

  /**
   * Replace client keys
   * @remarks Replaces the keys with which an OAuth client authenticates. The previous keys are removed and the client's tokens are revoked.
   */
  @Put(':id/keys')
  @Needs('settings:write')
  @Fresh()
  async replaceOAuthClientKeys(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: OAuthClientKeysBody,
  ): Promise<OAuthClientView> {
    const keys = await this.keys.read(body.requireKeySource());
    return OAuthClientView.of(await this.clients.replaceKeys(caller, id, keys));
  }

  /**
   * Replace client certificates
   * @remarks Replaces the certificates, or the trust anchors and the subject, with which an OAuth client authenticates. The client's tokens are
   * revoked.
   */
  @Put(':id/certificates')
  @Needs('settings:write')
  @Fresh()
  async replaceOAuthClientCertificates(
    @TheCaller() caller: Caller,
    @Param() { id }: IdParam,
    @Body() body: ClientCertificatesBody,
  ): Promise<OAuthClientView> {
    const rule = ruleOf(certificateOrderOf(body), this.clock.now());
    return OAuthClientView.of(await this.clients.replaceCertificates(caller, id, rule));
  }

  /**
   * Revoke an OAuth client
   * @remarks Revokes an OAuth client. Every process rejects the client and its tokens within five seconds.
   */
  @Delete(':id')
  @HttpCode(204)
  @Needs('settings:write')
  async revokeOAuthClient(@TheCaller() caller: Caller, @Param() { id }: IdParam): Promise<void> {
    await this.clients.revoke(caller, id);
  }
}
