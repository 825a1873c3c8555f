import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Put, Query, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { Config } from '../../../platform/config/config.js';
import { ExpectedVersion, ExpectedVersionIfSent, VersionInterceptor } from '../../../platform/http/versions.js';
import {
  ConfirmQuery,
  IdentityProviderList,
  IdentityProviderView,
  ProviderNameParam,
} from './identity-provider-views.dto.js';
import {
  ChangeOidcProviderBody,
  ChangeSamlProviderBody,
  OidcProviderBody,
  SamlProviderBody,
} from './identity-providers.dto.js';
import type { IdentityProvider } from '../../model/identity-provider.entity.js';
import { IdentityProviderChanges } from '../providers/identity-provider-changes.service.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';

@ApiTags('Settings')
@UseInterceptors(VersionInterceptor)
@Controller('api/settings/identity-providers')
export class IdentityProvidersController {
  constructor(
    private readonly providers: IdentityProvidersService,
    private readonly changes: IdentityProviderChanges,
    private readonly config: Config,
  ) {}

  /**
   * List identity providers
   * @remarks Returns identity providers without their secrets.
   */
  @Get()
  @Needs('settings:read')
  async listIdentityProviders(): Promise<IdentityProviderList> {
    return IdentityProviderList.of(await this.providers.list(), this.config.publicUrl);
  }

  /**
   * Get an identity provider
   * @remarks Returns an identity provider with its ETag, without its secrets.
   */
  @Get(':name')
  @Needs('settings:read')
  async getIdentityProvider(@Param() { name }: ProviderNameParam): Promise<IdentityProviderView> {
    return this.viewOf(await this.providers.named(name));
  }

  /**
   * Create or replace an OpenID provider
   * @remarks Creates an OpenID Connect provider or replaces its settings. Omitted settings are reset to their defaults, except for the secret, the key and
   * `redirect`, which are kept.
   */
  @Put('oidc/:name')
  @Needs('settings:write')
  @Fresh()
  async putOidcProvider(
    @TheCaller() caller: Caller,
    @Param() { name }: ProviderNameParam,
    @Body() body: OidcProviderBody,
    @Query() { confirm }: ConfirmQuery,
    @ExpectedVersionIfSent() version?: number,
  ): Promise<IdentityProviderView> {
    return this.viewOf(await this.changes.put(caller, body.toOrder(name), { version, confirm }));
  }

  /**
   * Create or replace a SAML provider
   * @remarks Creates a SAML provider or replaces its settings. Omitted settings are reset to their defaults, except for the key, which is kept.
   */
  @Put('saml/:name')
  @Needs('settings:write')
  @Fresh()
  async putSamlProvider(
    @TheCaller() caller: Caller,
    @Param() { name }: ProviderNameParam,
    @Body() body: SamlProviderBody,
    @Query() { confirm }: ConfirmQuery,
    @ExpectedVersionIfSent() version?: number,
  ): Promise<IdentityProviderView> {
    return this.viewOf(await this.changes.put(caller, body.toOrder(name), { version, confirm }));
  }

  /**
   * Update an OpenID provider
   * @remarks Changes settings of an OpenID Connect provider. Omitted members remain unchanged. Null resets a member to its default.
   */
  @Patch('oidc/:name')
  @Needs('settings:write')
  @Fresh()
  async changeOidcProvider(
    @TheCaller() caller: Caller,
    @Param() { name }: ProviderNameParam,
    @Body() body: ChangeOidcProviderBody,
    @Query() { confirm }: ConfirmQuery,
    @ExpectedVersion() version: number,
  ): Promise<IdentityProviderView> {
    const order = body.toOrder(await this.providers.ofKind('oidc', name));
    return this.viewOf(await this.changes.put(caller, order, { version, confirm }));
  }

  /**
   * Update a SAML provider
   * @remarks Changes settings of a SAML provider. Omitted members remain unchanged. Null resets a member to its default.
   */
  @Patch('saml/:name')
  @Needs('settings:write')
  @Fresh()
  async changeSamlProvider(
    @TheCaller() caller: Caller,
    @Param() { name }: ProviderNameParam,
    @Body() body: ChangeSamlProviderBody,
    @Query() { confirm }: ConfirmQuery,
    @ExpectedVersion() version: number,
  ): Promise<IdentityProviderView> {
    const order = body.toOrder(await this.providers.ofKind('saml', name));
    return this.viewOf(await this.changes.put(caller, order, { version, confirm }));
  }

  /**
   * Delete an identity provider
   * @remarks Deletes an identity provider. The accounts of its users remain, but users can no longer sign in through it.
   */
  @Delete(':name')
  @HttpCode(204)
  @Needs('settings:write')
  @Fresh()
  async removeIdentityProvider(
    @TheCaller() caller: Caller,
    @Param() { name }: ProviderNameParam,
    @Query() { confirm }: ConfirmQuery,
  ): Promise<void> {
    await this.changes.remove(caller, name, { confirm });
  }

  private viewOf(provider: IdentityProvider): IdentityProviderView {
    return IdentityProviderView.of(provider, this.config.publicUrl);
  }
}
