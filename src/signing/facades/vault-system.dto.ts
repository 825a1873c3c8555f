import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { VaultAnswer } from './vault-answer.dto.js';

export class VaultHealthView {
  initialized: boolean;
  /** Whether the HSM does not answer. */
  sealed: boolean;
  standby: boolean;
  performance_standby: boolean;
  /** @example disabled */
  replication_performance_mode: string;
  /** @example disabled */
  replication_dr_mode: string;
  /** @example 1798761600 */
  server_time_utc: number;
  /** Of the API that is spoken. @example 1.15.0+sealwright */
  version: string;
  /** @example sealwright */
  cluster_name: string;
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
  /** Never shown. @example '' */
  id: string;
  /** Id of the API key, the client or the person. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  accessor: string;
  /** @example build */
  display_name: string;
  /** Id of the person behind it. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  entity_id: string;
  /** Its permissions. @example ["sign:digest"] */
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
  @ApiProperty({ type: 'string', nullable: true, example: null })
  meta: null;
  @ApiProperty({ type: 'string', nullable: true, example: null })
  expire_time: null;
}

export class VaultTokenView extends VaultAnswer {
  data: VaultTokenData;
}

export class VaultPathsBody {
  /** @example ["transit/sign/release-2027"] */
  paths?: string[];
}

export class VaultCapabilitiesView extends VaultAnswer {
  /** By path: create, read, update, list or deny. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { capabilities: ['update'], 'transit/sign/release-2027': ['update'] },
  })
  data: Record<string, string[]>;
}

export class VaultMountParam {
  /** @example transit */
  @Matches(/^\w[\w.-]{0,199}$/)
  mount: string;
}

export class VaultMountData {
  /** @example transit */
  type: string;
  /** @example transit/ */
  path: string;
  /** @example 'Signing keys' */
  description: string;
  @ApiProperty({ type: 'string', nullable: true, example: null })
  options: null;
}

export class VaultMountView extends VaultAnswer {
  data: VaultMountData;
}

export class VaultMountsView extends VaultAnswer {
  /** By path. */
  @ApiProperty({ type: 'object', additionalProperties: true, example: { 'transit/': { type: 'transit' } } })
  data: Record<string, VaultMountData>;
}
