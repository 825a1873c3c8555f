import { ApiProperty } from '@nestjs/swagger';
import { Matches, ValidateBy } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import { ListOf, Text } from '../../platform/http/fields/fields.js';
import { faultOfPattern } from './claim-pattern.js';
import type { ClaimCondition, Claims, VerifiedIdentity } from './verified-identity.js';

/** Rejects values that are not valid claim patterns. `isMeant` reports whether the values of an object are claim patterns; other values are not validated. */
export function AreClaimPatterns(isMeant: (body: object) => boolean = () => true): PropertyDecorator {
  const faults = (values: unknown) =>
    (Array.isArray(values) ? values : []).flatMap((value: unknown) => {
      const fault = typeof value === 'string' ? faultOfPattern(value) : undefined;
      return fault === undefined ? [] : [`"${String(value)}" ${fault}`];
    });
  return ValidateBy({
    name: 'claimPatterns',
    validator: {
      validate: (values, at) => at === undefined || !isMeant(at.object) || faults(values).length === 0,
      defaultMessage: (at) => faults(at?.value)[0] ?? '',
    },
  });
}

export class ClaimConditionBody implements ClaimCondition {
  /** Name of a claim, or a JSON pointer (RFC 6901) to a nested claim: `/kubernetes.io/namespace`. @example repository */
  @Text(1, 200) @Matches(/^[\x21-\x7e]+$/) claim: string;
  /**
   * The claim must match one of these values. `*` matches characters within a segment (`refs/tags/v*`); a trailing `**` matches the rest of the path.
   * @example ["org/app"]
   */
  @ListOf(Text(1, 500), { min: 1, max: 50 }) @AreClaimPatterns() values: string[];
}

export class IdentityTrustView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'app releases' */
  name: string;
}

/** Verified claims of the workload's token, unlike `metadata`, which the caller provides. */
export class VerifiedIdentityView {
  /** ID of the token exchange. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  trust: IdentityTrustView;
  /** Claims of the workload's token. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { repository: 'org/app', ref: 'refs/tags/v1.2' },
  })
  claims: Claims;
  /** SHA-256 of the signed part of the token, base64. @example 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU= */
  tokenSha256: string;
  /** RFC 7638 thumbprint (SHA-256) of the issuer's key, base64url. @example NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs */
  keyThumbprint: string;

  static of(identity: VerifiedIdentity): VerifiedIdentityView {
    const { trust } = identity;
    return viewOf(VerifiedIdentityView, identity, { trust: { id: trust.id, name: trust.name } });
  }
}
