import { ApiProperty } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { viewOf } from '../../platform/http/fields/view-of.js';
import {
  Flag,
  IdRef,
  Int,
  JsonObject,
  ListOf,
  Name,
  OneOf,
  Optional,
  Text,
} from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { ClaimConditionBody } from '../../access/identity/identity.dto.js';
import type { Scope } from '../../access/scopes.js';
import { thumbprintsOf } from '../credentials/key-sets/key-set.js';
import { TRUST_WARNINGS, type TrustWarning, trustWarningsOf, WORKLOAD_SCOPES } from './trust-rules.js';
import type { KeySource, WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';
import type { WorkloadIssuerChange, WorkloadIssuerOrder } from './workload-issuers.service.js';
import type { WorkloadTrustOrder } from './workload-trusts.service.js';

/** Printable ASCII, because issuers and audiences are compared character by character. */
const VISIBLE = /^[\x21-\x7e]+$/;
const MAX_LIFE_SECONDS = 900;
/** The public key of RFC 7517 appendix A.1. */
const EXAMPLE_KEYS = {
  keys: [
    {
      kty: 'EC',
      crv: 'P-256',
      x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
      y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
    },
  ],
};

export class ChangeWorkloadIssuerBody {
  /** @example 'GitHub Actions' */
  @Name(1, 100) name: string;
  @Optional(Flag()) enabled?: boolean = true;
  /** A JWK Set, for an issuer that this service cannot reach. If omitted, the keys are discovered. */
  @Optional(JsonObject(64 * 1024, { example: EXAMPLE_KEYS })) jwks?: Record<string, unknown>;

  toChange(): WorkloadIssuerChange {
    return { name: this.name, enabled: this.enabled ?? true, jwks: this.jwks };
  }
}

export class WorkloadIssuerBody extends ChangeWorkloadIssuerBody {
  /** The exact `iss` claim of the issuer's tokens. @example https://token.actions.githubusercontent.com */
  @Text(1, 300) @Matches(VISIBLE) issuer: string;

  toOrder(): WorkloadIssuerOrder {
    return { ...this.toChange(), issuer: this.issuer };
  }
}

export class WorkloadIssuerView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'GitHub Actions' */
  name: string;
  /** @example https://token.actions.githubusercontent.com */
  issuer: string;
  keySource: KeySource;
  /** Thumbprints of the issuer's keys as last fetched or uploaded (RFC 7638, SHA-256). @example ["NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"] */
  keys: string[];
  keysReadAt: Date | null;
  enabled: boolean;
  /** Incremented on every change. The ETag for `If-Match` is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;
  updatedAt: Date;

  static of(row: WorkloadIssuer): WorkloadIssuerView {
    const { revision: version, keys } = row;
    const thumbprints = thumbprintsOf(keys ?? []);
    return viewOf(WorkloadIssuerView, row, { keys: thumbprints, version });
  }
}

export class WorkloadIssuerPage extends PageOf(WorkloadIssuerView) {}

export class WorkloadTrustBody {
  /** @example 'app releases' */
  @Name(1, 100) name: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @IdRef() issuerId: string;
  /** The `aud` claim of the tokens. Defaults to the URL of this service. @example https://sign.example.com */
  @Optional(Text(1, 300)) @Matches(VISIBLE) audience?: string;
  /** Conditions on the claims, all of which must be met. */
  @ListOf(ClaimConditionBody, { min: 1, max: 20 }) conditions: ClaimConditionBody[];
  /** Whether to accept runs for pull and merge requests, whose code can come from a fork. */
  @Optional(Flag()) pullRequests?: boolean = false;
  /** Scopes of the access tokens. You can grant only scopes that you have. */
  @ListOf(OneOf(WORKLOAD_SCOPES), { min: 1, unique: true, example: ['sign:digest', 'sign:read'] }) scopes: Scope[];
  /** Names of the signing keys that the access tokens can use. `*` matches any characters. An empty list allows no key. @example ["release"] */
  @ListOf(Text(1, 64), { max: 200, unique: true }) keys: string[];
  /** Lifetime of the access tokens in seconds. @example 900 */
  @Optional(Int(60, MAX_LIFE_SECONDS)) lifeSeconds?: number = MAX_LIFE_SECONDS;
  /** Whether access tokens are issued only with a DPoP proof and are bound to the proof's key (RFC 9449). */
  @Optional(Flag()) dpopBound?: boolean = false;
  /** Whether access tokens are issued only if the client presents a certificate, and are bound to that certificate (RFC 8705). */
  @Optional(Flag()) certificateBound?: boolean = false;
  @Optional(Flag()) enabled?: boolean = true;

  toOrder(): WorkloadTrustOrder {
    const { name, issuerId, audience, scopes, keys } = this;
    const { pullRequests = false, lifeSeconds = MAX_LIFE_SECONDS, enabled = true } = this;
    const { dpopBound = false, certificateBound = false } = this;
    const conditions = this.conditions.map(({ claim, values }) => ({ claim, values }));
    const order = { name, issuerId, audience, conditions, pullRequests, scopes, keys };
    return { ...order, lifeSeconds, dpopBound, certificateBound, enabled };
  }
}

export class WorkloadTrustView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example 'app releases' */
  name: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  issuerId: string;
  /** @example https://sign.example.com */
  audience: string;
  conditions: ClaimConditionBody[];
  pullRequests: boolean;
  @ApiProperty({ enum: WORKLOAD_SCOPES, isArray: true }) scopes: Scope[];
  /** @example ["release"] */
  keys: string[];
  /** @example 900 */
  lifeSeconds: number;
  /** Whether access tokens are issued only with a DPoP proof. */
  dpopBound: boolean;
  /** Whether access tokens are bound to a client certificate. */
  certificateBound: boolean;
  enabled: boolean;
  /**
   * Warnings about the conditions. `tenant-not-named`: no condition names an organization or a subject. If the issuer serves several organizations, the runs of
   * other organizations are also accepted.
   */
  @ApiProperty({ enum: TRUST_WARNINGS, isArray: true, example: [] }) warnings: TrustWarning[];
  /** ID of the last user who changed the trust. The tokens are limited to the rights of this user. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  ownerId: string;
  /** Incremented on every change. The ETag for `If-Match` is this value in double quotes. @example 1 */
  version: number;
  createdAt: Date;
  updatedAt: Date;

  static of(row: WorkloadTrust): WorkloadTrustView {
    const { id, name, issuerId, audience, pullRequests, scopes, keys, lifeSeconds, dpopBound, certificateBound } = row;
    const { enabled, ownerId, revision: version, createdAt, updatedAt } = row;
    const conditions = row.conditions.map(({ claim, values }) => ({ claim, values: [...values] }));
    const warnings = trustWarningsOf(row.conditions);
    const accepted = { issuerId, audience, conditions, pullRequests };
    const given = { scopes, keys, lifeSeconds, dpopBound, certificateBound };
    return { id, name, ...accepted, ...given, enabled, warnings, ownerId, version, createdAt, updatedAt };
  }
}

export class WorkloadTrustPage extends PageOf(WorkloadTrustView) {}
