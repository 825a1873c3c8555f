import { ApiProperty, ApiResponse } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { applyDecorators } from '@nestjs/common';

/** Vault's response envelope. Leases, wrapping and warnings are not used. */
export abstract class VaultAnswer {
  /** X-Request-Id of the request. @example 7b0c9f5e-53a2-4a39-8a53-0a4d7d1f7d11 */
  request_id: string;
  /** @example '' */
  lease_id: string;
  renewable: boolean;
  /** @example 0 */
  lease_duration: number;
  @ApiProperty({ type: 'string', nullable: true, example: null }) wrap_info: null;
  @ApiProperty({ type: 'string', nullable: true, example: null }) warnings: null;
  @ApiProperty({ type: 'string', nullable: true, example: null }) auth: null;
  /** @example transit */
  mount_type: string;
}

export class VaultErrors {
  /** Description of the error. @example ["permission denied"] */
  errors: string[];
}

/** Wraps data in Vault's response envelope. */
export function vaultAnswer<Data>(requestId: string, data: Data, mount = 'transit'): VaultAnswer & { data: Data } {
  const none = { wrap_info: null, warnings: null, auth: null };
  return { request_id: requestId, lease_id: '', renewable: false, lease_duration: 0, data, ...none, mount_type: mount };
}

/** Returns errors of the operation in Vault's format. */
export const RefusesAsVault = (): MethodDecorator & ClassDecorator =>
  applyDecorators(
    ApiResponse({ status: '4XX', description: 'Rejected; the body uses Vault’s error format', type: VaultErrors }),
  );

export class VaultHealthView {
  initialized: boolean;
  /** True if the HSM does not respond. */
  sealed: boolean;
  standby: boolean;
  performance_standby: boolean;
  /** @example disabled */
  replication_performance_mode: string;
  /** @example disabled */
  replication_dr_mode: string;
  /** @example 1798761600 */
  server_time_utc: number;
  /** Version of the Vault API that is implemented. @example 1.15.0+sealwright */
  version: string;
  /** @example sealwright */
  cluster_name: string;
}

export class VaultInitView {
  initialized: boolean;
}

export class VaultSealView {
  /** @example pkcs11 */
  type: string;
  initialized: boolean;
  sealed: boolean;
  /** @example 1 */
  t: number;
  /** @example 1 */
  n: number;
  /** @example 0 */
  progress: number;
  /** @example '' */
  nonce: string;
  /** @example 1.15.0+sealwright */
  version: string;
  /** @example '' */
  build_date: string;
  migration: boolean;
  recovery_seal: boolean;
  /** @example postgresql */
  storage_type: string;
  /** @example sealwright */
  cluster_name: string;
}

export class VaultLeaderView {
  ha_enabled: boolean;
  is_self: boolean;
  /** @example '' */
  leader_address: string;
  /** @example '' */
  leader_cluster_address: string;
}

export class VaultTokenData {
  /** Token of the request; empty in a browser session. @example sw_HoU6HPRMthOHQ7 */
  id: string;
  /** ID of the API key, client or user. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  accessor: string;
  /** @example build */
  display_name: string;
  /** ID of the user on whose behalf the caller acts. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  entity_id: string;
  /** Permissions of the caller. @example ["sign:digest"] */
  policies: string[];
  /** @example auth/token/create */
  path: string;
  /** @example 0 */
  ttl: number;
  /** @example 0 */
  creation_ttl: number;
  /** @example 0 */
  explicit_max_ttl: number;
  /** @example 0 */
  num_uses: number;
  orphan: boolean;
  renewable: boolean;
  /** @example service */
  type: string;
  @ApiProperty({ type: 'string', nullable: true, example: null }) meta: null;
  @ApiProperty({ type: 'string', nullable: true, example: null }) expire_time: null;
}

export class VaultTokenView extends VaultAnswer {
  data: VaultTokenData;
}

export class VaultPathsBody {
  /** @example ["transit/sign/release-2027"] */
  paths?: string[];
}

export class VaultCapabilitiesView extends VaultAnswer {
  /** Capabilities by path: create, read, update, list or deny. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { capabilities: ['update'], 'transit/sign/release-2027': ['update'] },
  })
  data: Record<string, string[]>;
}

export class VaultMountParam {
  /** @example transit */
  @Matches(/^\w[\w.-]{0,199}$/) mount: string;
}

export class VaultMountData {
  /** @example transit */
  type: string;
  /** @example transit/ */
  path: string;
  /** @example 'Signing keys' */
  description: string;
  @ApiProperty({ type: 'string', nullable: true, example: null }) options: null;
}

export class VaultMountView extends VaultAnswer {
  data: VaultMountData;
}

export class VaultMountsView extends VaultAnswer {
  /** Mounts by path. */
  @ApiProperty({ type: 'object', additionalProperties: true, example: { 'transit/': { type: 'transit' } } })
  data: Record<string, VaultMountData>;
}
