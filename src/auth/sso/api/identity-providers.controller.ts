import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Fresh, Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import {
  IdentityProviderList,
  IdentityProviderTestView,
  IdentityProviderView,
  OidcProviderBody,
  ProviderNameParam,
  SamlProviderBody,
} from './identity-providers.dto.js';
import { IdentityProviderCheck } from './identity-provider-check.js';
import { IdentityProvidersService } from '../providers/identity-providers.service.js';

@ApiTags('Settings')
@Controller('api/settings/identity-providers')
export class IdentityProvidersController {
  constructor(
    private readonly providers: IdentityProvidersService,
    private readonly check: IdentityProviderCheck,
  ) {}

  /** Lists identity providers, without their secrets. */
  @Get()
  @Needs('settings:read')
  async listIdentityProviders(): Promise<IdentityProviderList> {
    return IdentityProviderList.of(await this.providers.list());
  }

  /** Creates or changes an OpenID Connect provider. */
  @Put('oidc/:name')
  @Needs('settings:write')
  @Fresh()
  async putOidcProvider(
    @TheCaller() caller: Caller,
    @Param() { name }: ProviderNameParam,
    @Body() body: OidcProviderBody,
  ): Promise<IdentityProviderView> {
    return IdentityProviderView.of(await this.providers.put(caller, body.toOrder(name)));
  }

  /** Creates or changes a SAML 2.0 provider. */
  @Put('saml/:name')
  @Needs('settings:write')
  @Fresh()
  async putSamlProvider(
    @TheCaller() caller: Caller,
    @Param() { name }: ProviderNameParam,
    @Body() body: SamlProviderBody,
  ): Promise<IdentityProviderView> {
    return IdentityProviderView.of(await this.providers.put(caller, body.toOrder(name)));
  }

  /** Looks whether a provider can work: what it publishes, its keys, its certificates. Nobody is signed in for it. */
  @Post('test/:name')
  @HttpCode(200)
  @Needs('settings:write')
  async testIdentityProvider(@Param() { name }: ProviderNameParam): Promise<IdentityProviderTestView> {
    return IdentityProviderTestView.of(await this.check.of(name));
  }

  /** Removes an identity provider. Who came by it stays, and cannot sign in by it any more. */
  @Delete(':name')
  @HttpCode(204)
  @Needs('settings:write')
  @Fresh()
  async removeIdentityProvider(@TheCaller() caller: Caller, @Param() { name }: ProviderNameParam): Promise<void> {
    await this.providers.remove(caller, name);
  }
}
