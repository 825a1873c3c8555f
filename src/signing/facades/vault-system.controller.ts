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

/** What clients of Vault call before, and beside, the transit engine. */
@ApiTags('Facades')
@RefusesAsVault()
@Controller('v1')
export class VaultSystemController {
  constructor(private readonly system: VaultSystemService) {}

  /** Says whether the HSM answers, as Vault says whether it is unsealed. */
  @Get('sys/health')
  @Public()
  vaultHealth(@Query() _query: object, @Res({ passthrough: true }) reply: FastifyReply): VaultHealthView {
    const health = this.system.health();
    if (health.sealed) void reply.status(503);
    return health;
  }

  /** Says that there is nothing to set up. */
  @Get('sys/init')
  @Public()
  vaultInit(): VaultInitView {
    return { initialized: true };
  }

  /** Says how the keys are kept, as `vault status` asks. */
  @Get('sys/seal-status')
  @Public()
  vaultSealStatus(): VaultSealView {
    return this.system.seal();
  }

  /** Says which process leads: any of them answers. */
  @Get('sys/leader')
  @Public()
  vaultLeader(): VaultLeaderView {
    return { ha_enabled: false, is_self: true, leader_address: '', leader_cluster_address: '' };
  }

  /** Lists the mounts: there are only transit engines. */
  @Get('sys/mounts')
  @SignedIn()
  vaultMounts(@Req() { id }: FastifyRequest): VaultMountsView {
    return vaultAnswer(id, this.system.mounts(), 'system');
  }

  /** Says what is mounted at a path. */
  @Get('sys/internal/ui/mounts/:mount')
  @SignedIn()
  vaultMount(@Req() { id }: FastifyRequest, @Param() { mount }: VaultMountParam): VaultMountView {
    return vaultAnswer(id, this.system.mount(mount), 'system');
  }

  /** Says what the caller may do at the given paths. */
  @Post('sys/capabilities-self')
  @HttpCode(200)
  @SignedIn()
  @ApiBody({ type: VaultPathsBody })
  postVaultCapabilities(@TheCaller() caller: Caller, @Body() body: unknown): VaultCapabilitiesView {
    return this.capabilities(caller, body);
  }

  /** Says what the caller may do at the given paths. */
  @Put('sys/capabilities-self')
  @SignedIn()
  @ApiBody({ type: VaultPathsBody })
  putVaultCapabilities(@TheCaller() caller: Caller, @Body() body: unknown): VaultCapabilitiesView {
    return this.capabilities(caller, body);
  }

  /** Says who the caller is, as Vault tells of a token. */
  @Get('auth/token/lookup-self')
  @SignedIn()
  vaultToken(@Req() { headers }: FastifyRequest, @TheCaller() caller: Caller): VaultTokenView {
    return this.token(headers, caller);
  }

  /** Says who the caller is, as Vault tells of a token. */
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
