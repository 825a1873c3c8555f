import { Problem } from '../platform/errors/problem.js';

/** Scopes define what a caller may do. Scope names are part of the public API and never change. */
export const SCOPES = {
  'hosts:read': 'List and view hosts',
  'hosts:write': 'Add, update, delete hosts',
  'keys:read': 'List and view SSH keys',
  'keys:rotate': 'Trigger key rotation',
  'keys:release': 'Retrieve private SSH keys that the service stores',
  'ssh-ca:issue': 'Request SSH certificates',
  'ssh-ca:login': 'Request SSH certificates under the login rules that apply to you',
  'ssh-ca:write': 'Create and retire SSH authorities; revoke SSH certificates',
  'discovery:run': 'Start discovery scans',
  'admin:*': 'Full administrative access',
  'sign:digest': 'Sign digests',
  'sign:read': 'View signing requests',
  'timestamps:issue': 'Request timestamps (RFC 3161)',
  'signing-keys:read': 'List and view signing keys',
  'signing-keys:write': 'Generate signing keys',
  'settings:read': 'View settings, API keys and OAuth clients',
  'settings:write': 'Change settings; create and revoke API keys and OAuth clients',
  'users:read': 'View users and their sessions',
  'users:write': 'Invite, change and disable users',
  'inventory:read': 'View cryptographic assets, their risk and relationships',
  'inventory:report': 'Report assets to the inventory for your own sources',
  'inventory:write': 'Report assets for any source; change risk rules, policy packs, attestations and saved views',
  'alerts:read': 'View alerts and their rules',
  'alerts:write': 'Acknowledge and resolve alerts; change their rules',
  'approvals:read': 'View approvals, approver groups and policies',
  'approvals:write': 'Change approver groups and approval policies',
  'approvals:approve': 'Approve or reject requests as a member of an approver group',
  'sensors:read': 'View sensors',
  'sensors:write': 'Register, change and disable sensors',
  'sensors:report': 'Send heartbeats as a sensor',
  'schedules:read': 'View schedules and their runs',
  'schedules:write': 'Create, change and start schedules',
  'webhooks:read': 'View webhook endpoints and their deliveries',
  'webhooks:write': 'Create, change and delete webhook endpoints',
  'audit:read': 'Read the audit log',
  'system:read': 'Read health details and metrics',
} as const;

export type Scope = keyof typeof SCOPES;

export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];

/** Roles are named sets of scopes. */
export const ROLES = {
  viewer: [
    'hosts:read',
    'keys:read',
    'sign:read',
    'signing-keys:read',
    'inventory:read',
    'approvals:read',
    'alerts:read',
    'sensors:read',
    'schedules:read',
    'ssh-ca:login',
  ],
  operator: [
    'hosts:read',
    'hosts:write',
    'keys:read',
    'keys:rotate',
    'ssh-ca:login',
    'discovery:run',
    'sign:digest',
    'sign:read',
    'timestamps:issue',
    'signing-keys:read',
    'inventory:read',
    'inventory:report',
    'inventory:write',
    'alerts:read',
    'alerts:write',
    'sensors:read',
    'sensors:write',
    'sensors:report',
    'schedules:read',
    'schedules:write',
    'webhooks:read',
    'approvals:read',
    'system:read',
  ],
  approver: ['sign:read', 'signing-keys:read', 'approvals:read', 'approvals:approve', 'ssh-ca:login'],
  auditor: [
    'sign:read',
    'signing-keys:read',
    'inventory:read',
    'alerts:read',
    'sensors:read',
    'schedules:read',
    'webhooks:read',
    'settings:read',
    'approvals:read',
    'audit:read',
    'system:read',
    'hosts:read',
    'keys:read',
  ],
  admin: ['admin:*'],
} as const satisfies Record<string, readonly Scope[]>;

export type RoleName = keyof typeof ROLES;

/** Scopes that only people can use. New API keys, and new clients that request tokens for themselves, cannot have these scopes. */
export const PERSON_SCOPES: readonly Scope[] = ['approvals:approve'];

/** Maps a scope to the wider scope that includes the scope. */
const INCLUDED_IN: Partial<Record<Scope, Scope>> = { 'inventory:report': 'inventory:write' };

/** Reports whether a set of scopes includes the wanted scope. `admin:*` is the only wildcard; a wider scope includes its narrower scopes. */
export function mayDo(held: ReadonlySet<string>, wanted: Scope): boolean {
  const wider = INCLUDED_IN[wanted];
  return held.has(wanted) || held.has('admin:*') || (wider !== undefined && held.has(wider));
}

/** Returns the wanted scopes that the held scopes do not include. */
export function scopesBeyond(held: ReadonlySet<string>, wanted: Iterable<Scope>): Scope[] {
  return [...wanted].filter((scope) => !mayDo(held, scope));
}

/** @throws Problem 403 `insufficient_scope` that names the missing scope */
export function assertScope(held: ReadonlySet<string>, wanted: Scope): void {
  if (mayDo(held, wanted)) return;
  throw new Problem(
    'forbidden',
    'insufficient_scope',
    `This operation requires the scope "${wanted}", which you do not have. Ask an administrator to grant it.`,
    { scope: wanted },
  );
}

/** Returns the scopes of these roles. */
export function scopesOf(roles: readonly RoleName[]): Set<Scope> {
  return new Set<Scope>(roles.flatMap((role) => ROLES[role]));
}

export const ROLE_NAMES = Object.keys(ROLES) as RoleName[];
