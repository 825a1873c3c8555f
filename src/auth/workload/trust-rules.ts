import type { ClaimCondition } from '../../access/identity/verified-identity.js';
import type { Scope } from '../../access/scopes.js';
import { Problem } from '../../platform/errors/problem.js';

/** What a run may be allowed to do. All else needs a person, or a credential with an owner who can be asked. */
export const WORKLOAD_SCOPES = [
  'sign:digest',
  'sign:read',
  'signing-keys:read',
  'timestamps:issue',
  'ssh-ca:login',
] as const satisfies Scope[];

/** Issuers whose tokens anybody can get, and the claims of which one must name whose run it is. */
const SHARED_ISSUERS: readonly { readonly issuer: string; readonly tenants: readonly string[] }[] = [
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
];

/** Refuses conditions under which anybody's runs would be accepted. Problem `workload-trust.tenant`. */
export function assertTenant(issuer: string, conditions: readonly ClaimCondition[]): void {
  const shared = SHARED_ISSUERS.find((one) => one.issuer === issuer);
  if (shared === undefined || conditions.some((one) => namesTenant(one, shared.tenants))) return;
  const detail = `anybody can get a token of this issuer; say whose runs are meant, by one of ${shared.tenants.join(', ')}`;
  const errors = [{ pointer: '/conditions', detail }];
  throw new Problem('refused', 'workload-trust.tenant', `/conditions: ${detail}.`, { errors });
}

/**
 * Whether a condition says whose runs are meant, in each of its values: the segment with the owner has no wildcard, since anybody can take a
 * name that begins alike (`octo-*`). That is the first one, and in subjects the second; there GitHub puts an id behind names
 * (`octo-org@123456`), and `@` is in no name, so a wildcard may stand behind it.
 */
function namesTenant({ claim, values }: ClaimCondition, tenants: readonly string[]): boolean {
  if (!tenants.includes(claim)) return false;
  return values.every((value) => {
    const [kind = '', owner = ''] = value.split(/[/:]/);
    return !kind.includes('*') && (claim !== 'sub' || !owner.split('@')[0]?.includes('*'));
  });
}
