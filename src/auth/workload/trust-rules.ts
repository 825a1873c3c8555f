import type { ClaimCondition } from '../../access/identity/verified-identity.js';
import type { Scope } from '../../access/scopes.js';
import { Problem } from '../../platform/errors/problem.js';

/** The permissions that a run can have. All other permissions require a user, or a credential with an owner. */
export const WORKLOAD_SCOPES = [
  'sign:digest',
  'sign:read',
  'signing-keys:read',
  'timestamps:issue',
  'ssh-ca:login',
] as const satisfies Scope[];

/** SharedIssuer is an issuer that issues tokens for many organizations. A trust for a shared issuer must name an organization or a subject. */
interface SharedIssuer {
  /** The exact `iss` claim. */
  readonly issuer: string;
  /** Claims that name an organization or a subject. */
  readonly tenants: readonly string[];
  /** Number of leading segments of `sub` that name the organization. Defaults to DEFAULT_SUBJECT_SEGMENTS. */
  readonly subjectSegments?: number;
}

/** `repo:octo-org/…`, `organization:acme:…`, `owner:acme:…`, `account:ID:…` */
const DEFAULT_SUBJECT_SEGMENTS = 2;
/** `pulumi:deploy:org:acme:…` */
const PULUMI = { tenants: ['sub', 'https://pulumi.com/org', 'https://pulumi.com/org_id'], subjectSegments: 4 };

const SHARED_ISSUERS: readonly SharedIssuer[] = [
  {
    issuer: 'https://token.actions.githubusercontent.com',
    tenants: ['sub', 'repository', 'repository_id', 'repository_owner', 'repository_owner_id'],
  },
  {
    issuer: 'https://gitlab.com',
    tenants: ['sub', 'project_path', 'project_id', 'namespace_path', 'namespace_id'],
  },
  {
    issuer: 'https://agent.buildkite.com',
    tenants: ['sub', 'organization_slug', 'organization_id', 'pipeline_id'],
  },
  {
    issuer: 'https://accounts.google.com',
    tenants: ['sub', 'email'],
  },
  {
    issuer: 'https://app.terraform.io',
    tenants: [
      'sub',
      'terraform_organization_id',
      'terraform_organization_name',
      'terraform_project_id',
      'terraform_workspace_id',
    ],
  },
  { issuer: 'https://api.pulumi.com/oidc', ...PULUMI },
  { issuer: 'https://api.pulumi.com/oidc/v2', ...PULUMI },
  {
    issuer: 'https://oidc.codefresh.io',
    tenants: ['sub', 'account_id', 'account_name', 'pipeline_id'],
  },
  {
    issuer: 'https://login.app.env0.com/',
    tenants: ['sub', 'organizationId', 'https://env0.com/organization', 'https://env0.com/organizationId'],
  },
  {
    issuer: 'https://oidc.vercel.com',
    tenants: ['sub', 'owner', 'owner_id', 'project_id'],
  },
  {
    issuer: 'https://oauth2.sigstore.dev/auth',
    tenants: ['sub', 'email'],
  },
];

/** Matches claim names that usually name an organization or a subject, as returned by `plainName`. */
const TENANT_CLAIM =
  /(?:^|[^a-z])(?:sub|subject|email|org|organi[sz]ation|owner|account|tenant|project|namespace|repository|group|team)(?:$|[^a-z])/;

/** Warnings about a trust that is accepted. `tenant-not-named`: no condition names an organization or a subject. */
export const TRUST_WARNINGS = ['tenant-not-named'] as const;
export type TrustWarning = (typeof TRUST_WARNINGS)[number];

/**
 * Verifies that the conditions name an organization or a subject if the issuer is known to serve many organizations. Throws Problem `workload-trust.tenant`.
 */
export function assertTenant(issuer: string, conditions: readonly ClaimCondition[]): void {
  const shared = SHARED_ISSUERS.find((one) => one.issuer === issuer);
  if (shared === undefined) return;
  const { tenants, subjectSegments } = shared;
  if (conditions.some((one) => tenants.includes(one.claim) && isLiteral(one, subjectSegments))) return;
  const detail = `anyone can get a token from the issuer ${issuer}; restrict the organization or the subject with one of ${tenants.join(', ')}`;
  const errors = [{ pointer: '/conditions', detail }];
  throw new Problem('refused', 'workload-trust.tenant', `/conditions: ${detail}.`, { errors });
}

/** Returns warnings about a trust, regardless of its issuer, because an issuer that is not in SHARED_ISSUERS may also serve several organizations. */
export function trustWarningsOf(conditions: readonly ClaimCondition[]): TrustWarning[] {
  const named = conditions.some((one) => TENANT_CLAIM.test(plainName(one.claim)) && isLiteral(one));
  return named ? [] : ['tenant-not-named'];
}

/** Converts `organizationId` to `organization_id`. */
const plainName = (claim: string): string => claim.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();

/**
 * Reports whether each value of a condition is literal in the segments that name the organization, because anyone can register a name with the same prefix
 * (`octo-*`). In subjects, these are the first `subjectSegments` segments; in other claims, the first segment. In subjects, GitHub appends an ID to names
 * (`octo-org@123456`), and no name contains `@`, so a wildcard may follow the `@`.
 */
function isLiteral({ claim, values }: ClaimCondition, subjectSegments = DEFAULT_SUBJECT_SEGMENTS): boolean {
  const count = claim === 'sub' ? subjectSegments : 1;
  return values.every((value) => {
    const segments = value.split(/[/:]/).slice(0, count);
    return segments.every((segment, i) => !(i === 0 ? segment : (segment.split('@')[0] ?? '')).includes('*'));
  });
}
