import { Body, Controller, Get, HttpCode, Param, Post, Put, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public, SignedIn, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import {
  RefusesAsVault,
  vaultAnswer,
  VaultCapabilitiesView,
  VaultHealthView,
  VaultInitView,
  VaultLeaderView,
  VaultMountParam,
  VaultMountsView,
  VaultMountView,
  VaultPathsBody,
  VaultSealView,
  VaultTokenView,
} from './vault-system.dto.js';
import { VaultSystemService } from './vault-system.service.js';
import { WeakValues } from './weak-values.js';

/** VaultSystemController serves the routes that Vault clients call in addition to the transit engine. */
@ApiTags('Facades')
@RefusesAsVault()
@Controller('v1')
export class VaultSystemController {
  constructor(private readonly system: VaultSystemService) {}

  /**
   * Get Vault health
   * @remarks Reports in Vault's format whether the HSM responds: unsealed if the HSM responds, otherwise sealed.
   */
  @Get('sys/health')
  @Public()
  vaultHealth(@Query() _query: object, @Res({ passthrough: true }) reply: FastifyReply): VaultHealthView {
    const health = this.system.health();
    if (health.sealed) void reply.status(503);
    return health;
  }

  /**
   * Get Vault initialization status
   * @remarks Reports in Vault's format that the service is initialized.
   */
  @Get('sys/init')
  @Public()
  vaultInit(): VaultInitView {
    return { initialized: true };
  }

  /**
   * Get Vault seal status
   * @remarks Reports in Vault's format how keys are protected, as shown by `vault status`.
   */
  @Get('sys/seal-status')
  @Public()
  vaultSealStatus(): VaultSealView {
    return this.system.seal();
  }

  /**
   * Get Vault leader status
   * @remarks Reports this process as the leader, because every process serves requests.
   */
  @Get('sys/leader')
  @Public()
  vaultLeader(): VaultLeaderView {
    return { ha_enabled: false, is_self: true, leader_address: '', leader_cluster_address: '' };
  }

  /**
   * List Vault mounts
   * @remarks Returns the mounts in Vault's format. All mounts are Transit engines.
   */
  @Get('sys/mounts')
  @SignedIn()
  vaultMounts(@Req() { id }: FastifyRequest): VaultMountsView {
    return vaultAnswer(id, this.system.mounts(), 'system');
  }

  /**
   * Get a Vault mount
   * @remarks Returns the mount at a path in Vault's format.
   */
  @Get('sys/internal/ui/mounts/:mount')
  @SignedIn()
  vaultMount(@Req() { id }: FastifyRequest, @Param() { mount }: VaultMountParam): VaultMountView {
    return vaultAnswer(id, this.system.mount(mount), 'system');
  }

  /**
   * Get Vault capabilities
   * @remarks Returns the capabilities of the caller at the given paths in Vault's format.
   */
  @Post('sys/capabilities-self')
  @HttpCode(200)
  @SignedIn()
  @ApiBody({ type: VaultPathsBody })
  postVaultCapabilities(@TheCaller() caller: Caller, @Body() body: unknown): VaultCapabilitiesView {
    return this.capabilities(caller, body);
  }

  /**
   * Get Vault capabilities (PUT)
   * @remarks Returns the capabilities of the caller at the given paths in Vault's format.
   */
  @Put('sys/capabilities-self')
  @SignedIn()
  @ApiBody({ type: VaultPathsBody })
  putVaultCapabilities(@TheCaller() caller: Caller, @Body() body: unknown): VaultCapabilitiesView {
    return this.capabilities(caller, body);
  }

  /**
   * Look up the Vault token
   * @remarks Returns the caller as a Vault token.
   */
  @Get('auth/token/lookup-self')
  @SignedIn()
  vaultToken(@Req() { headers }: FastifyRequest, @TheCaller() caller: Caller): VaultTokenView {
    return this.token(headers, caller);
  }

  /**
   * Look up the Vault token (POST)
   * @remarks Returns the caller as a Vault token.
   */
  @Post('auth/token/lookup-self')
  @HttpCode(200)
  @SignedIn()
  postVaultToken(@Req() { headers }: FastifyRequest, @TheCaller() caller: Caller): VaultTokenView {
    return this.token(headers, caller);
  }

  private token({ authorization = '' }: FastifyRequest['headers'], caller: Caller): VaultTokenView {
    const shown = authorization.slice(authorization.indexOf(' ') + 1);
    return vaultAnswer(caller.origin.requestId, this.system.token(caller, shown.trim()), 'token');
  }

  private capabilities(caller: Caller, body: unknown): VaultCapabilitiesView {
    const values = WeakValues.of(body);
    const paths = values.texts('paths') ?? values.texts('path') ?? [];
    return vaultAnswer(caller.origin.requestId, this.system.capabilities(caller, paths), 'system');
  }
}
