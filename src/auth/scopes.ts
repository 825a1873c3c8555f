/** What a caller may be allowed to do. The first six are the public contract of the host area; names never change. */
export const SCOPES = {
  'hosts:read': 'List and view hosts',
  'hosts:write': 'Add, update, delete hosts',
  'keys:read': 'List and view SSH keys',
  'keys:rotate': 'Trigger key rotation',
  'discovery:run': 'Start discovery scans',
  'admin:*': 'Full administrative access',
  'sign:digest': 'Have digests signed',
  'sign:read': 'View signing requests',
  'timestamps:issue': 'Have timestamps issued (RFC 3161)',
  'signing-keys:read': 'List and view signing keys',
  'signing-keys:write': 'Generate signing keys',
  'inventory:read': 'View cryptographic assets, their risk and relationships',
  'inventory:write': 'Bring assets into the inventory; change its rules',
  'settings:read': 'View settings and API keys',
  'settings:write': 'Change settings; create and revoke API keys',
  'audit:read': 'Read the audit log',
  'system:read': 'Read health details and metrics',
} as const;

export type Scope = keyof typeof SCOPES;

export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];

/** Roles are named sets of scopes. */
export const ROLES = {
  viewer: ['hosts:read', 'keys:read', 'sign:read', 'signing-keys:read', 'inventory:read'],
  operator: [
    'hosts:read',
    'hosts:write',
    'keys:read',
    'keys:rotate',
    'discovery:run',
    'sign:digest',
    'sign:read',
    'timestamps:issue',
    'signing-keys:read',
    'inventory:read',
    'inventory:write',
    'system:read',
  ],
  approver: ['sign:read', 'signing-keys:read'],
  auditor: [
    'sign:read',
    'signing-keys:read',
    'inventory:read',
    'settings:read',
    'audit:read',
    'system:read',
    'hosts:read',
    'keys:read',
  ],
  admin: ['admin:*'],
} as const satisfies Record<string, readonly Scope[]>;

export type RoleName = keyof typeof ROLES;

/** `admin:*` is the only wildcard; scopes are compared as whole words. */
export function mayDo(held: ReadonlySet<string>, wanted: Scope): boolean {
  return held.has(wanted) || held.has('admin:*');
}
