import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiResponse } from '@nestjs/swagger';

/** Vault's envelope around every answer. Nothing is leased, wrapped or warned of here. */
export abstract class VaultAnswer {
  /** X-Request-Id of the call. @example 7b0c9f5e-53a2-4a39-8a53-0a4d7d1f7d11 */
  request_id: string;
  /** @example '' */
  lease_id: string;
  renewable: boolean;
  /** @example 0 */
  lease_duration: number;
  @ApiProperty({ type: 'string', nullable: true, example: null })
  wrap_info: null;
  @ApiProperty({ type: 'string', nullable: true, example: null })
  warnings: null;
  @ApiProperty({ type: 'string', nullable: true, example: null })
  auth: null;
  /** @example transit */
  mount_type: string;
}

export class VaultErrors {
  /** What is wrong, in words. @example ["permission denied"] */
  errors: string[];
}

/** The answer with its envelope. */
export function vaultAnswer<Data>(requestId: string, data: Data, mount = 'transit'): VaultAnswer & { data: Data } {
  const none = { wrap_info: null, warnings: null, auth: null };
  return { request_id: requestId, lease_id: '', renewable: false, lease_duration: 0, data, ...none, mount_type: mount };
}

/** Refusals of the operation are in Vault's shape. */
export const RefusesAsVault = (): MethodDecorator & ClassDecorator =>
  applyDecorators(ApiResponse({ status: '4XX', description: 'Refused, in Vault’s shape', type: VaultErrors }));
