import type { MessageKey } from '../i18n/i18n.js';
import type { Scope } from './session.js';

export interface Destination {
  readonly path: string;
  readonly name: MessageKey;
  /** Scope required to see the entry. If undefined, everyone who is signed in sees it. */
  readonly scope?: Scope;
}

export interface Area {
  readonly name: MessageKey;
  readonly destinations: readonly Destination[];
}

/** The navigation, in display order. */
export const AREAS: readonly Area[] = [
  {
    name: 'nav.overview',
    destinations: [{ path: '/', name: 'nav.dashboard' }],
  },
  {
    name: 'nav.signing',
    destinations: [
      { path: '/sign', name: 'nav.sign', scope: 'sign:digest' },
      { path: '/verify', name: 'nav.verify', scope: 'sign:read' },
      { path: '/requests', name: 'nav.requests', scope: 'sign:read' },
      { path: '/approvals', name: 'nav.approvals', scope: 'approvals:read' },
      { path: '/keys', name: 'nav.keys', scope: 'signing-keys:read' },
      { path: '/certificates', name: 'nav.certificates', scope: 'signing-keys:read' },
      { path: '/policies', name: 'nav.policies', scope: 'approvals:read' },
    ],
  },
  {
    name: 'nav.inventory',
    destinations: [
      { path: '/assets', name: 'nav.assets', scope: 'inventory:read' },
      { path: '/deadlines', name: 'nav.deadlines', scope: 'inventory:read' },
      { path: '/rules', name: 'nav.rules', scope: 'inventory:read' },
      { path: '/names', name: 'nav.ownNames', scope: 'inventory:read' },
      { path: '/jurisdictions', name: 'nav.jurisdictions', scope: 'inventory:read' },
      { path: '/conflicts', name: 'nav.conflicts', scope: 'inventory:read' },
      { path: '/policy-packs', name: 'nav.policyPacks', scope: 'inventory:read' },
      { path: '/attestations', name: 'nav.attestations', scope: 'inventory:read' },
      { path: '/imports', name: 'nav.imports', scope: 'inventory:report' },
      { path: '/documents', name: 'nav.documents', scope: 'inventory:read' },
    ],
  },
  {
    name: 'nav.ssh',
    destinations: [
      { path: '/hosts', name: 'nav.hosts', scope: 'hosts:read' },
      { path: '/ssh-keys', name: 'nav.sshKeys', scope: 'keys:read' },
      { path: '/ssh-authorities', name: 'nav.sshAuthorities', scope: 'keys:read' },
      { path: '/ssh-login-rules', name: 'nav.sshLoginRules', scope: 'keys:read' },
      { path: '/host-authorities', name: 'nav.hostAuthorities', scope: 'hosts:read' },
      { path: '/rotations', name: 'nav.rotations', scope: 'keys:read' },
      { path: '/rotation-policies', name: 'nav.rotationPolicies', scope: 'keys:read' },
    ],
  },
  {
    name: 'nav.discovery',
    destinations: [
      { path: '/scans', name: 'nav.scans', scope: 'discovery:run' },
      { path: '/scan-scopes', name: 'nav.scanScopes', scope: 'discovery:run' },
      { path: '/sensors', name: 'nav.sensors', scope: 'sensors:read' },
      { path: '/schedules', name: 'nav.schedules', scope: 'schedules:read' },
    ],
  },
  {
    name: 'nav.operations',
    destinations: [
      { path: '/alerts', name: 'nav.alerts', scope: 'alerts:read' },
      { path: '/audit', name: 'nav.audit', scope: 'audit:read' },
      { path: '/health', name: 'nav.health', scope: 'system:read' },
    ],
  },
  {
    name: 'nav.settings',
    destinations: [
      { path: '/settings/api-keys', name: 'nav.apiKeys', scope: 'settings:read' },
      { path: '/settings/oauth-clients', name: 'nav.oauthClients', scope: 'settings:read' },
      { path: '/settings/workload-issuers', name: 'nav.workloadIssuers', scope: 'settings:read' },
      { path: '/settings/workload-trusts', name: 'nav.workloadTrusts', scope: 'settings:read' },
      { path: '/settings/users', name: 'nav.users', scope: 'users:read' },
      { path: '/settings/sign-in', name: 'nav.sso', scope: 'settings:read' },
      { path: '/settings/alert-rules', name: 'nav.alertRules', scope: 'alerts:read' },
      { path: '/settings/webhooks', name: 'nav.webhooks', scope: 'webhooks:read' },
      { path: '/settings/general', name: 'nav.general', scope: 'settings:read' },
    ],
  },
];
