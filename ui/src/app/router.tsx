import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { Crashed } from './crashed.js';
import { SignedIn } from './signed-in.js';
import { readSearch, type UrlState, writeSearch } from './url-state.js';

const root = createRootRoute({
  component: SignedIn,
  notFoundComponent: lazyRouteComponent(() => import('./not-found.js'), 'NotFound'),
});

/** A page module may export `readAhead`, which starts its first query while the page is loading. */
interface Ahead {
  readonly readAhead?: (state: UrlState) => void;
}

/** page defines the route of a page. Each page is a separate module that is loaded on navigation. */
function page<Module extends Record<string, unknown> & Ahead>(
  path: string,
  load: () => Promise<Module>,
  name: keyof Module & string,
) {
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load, name),
    loader: async ({ cause, location }) => {
      if (cause !== 'preload') (await load()).readAhead?.(location.search);
    },
  });
}

const pages = [
  page('/', () => import('../pages/dashboard/dashboard.page.js'), 'DashboardPage'),
  page('/sign', () => import('../pages/signing/sign.page.js'), 'SignPage'),
  page('/verify', () => import('../pages/signing/verify.page.js'), 'VerifyPage'),
  page('/requests', () => import('../pages/signing/requests.page.js'), 'RequestsPage'),
  page('/requests/$id', () => import('../pages/signing/request.page.js'), 'RequestPage'),
  page('/approvals', () => import('../pages/approvals/approvals.page.js'), 'ApprovalsPage'),
  page('/approvals/$id', () => import('../pages/approvals/approval.page.js'), 'ApprovalPage'),
  page('/policies', () => import('../pages/approvals/policies.page.js'), 'PoliciesPage'),
  page('/keys', () => import('../pages/keys/keys.page.js'), 'KeysPage'),
  page('/keys/$id', () => import('../pages/keys/key.page.js'), 'KeyPage'),
  page('/certificates', () => import('../pages/keys/certificates.page.js'), 'CertificatesPage'),
  page('/assets', () => import('../pages/inventory/assets.page.js'), 'AssetsPage'),
  page('/assets/$id', () => import('../pages/inventory/asset.page.js'), 'AssetPage'),
  page('/deadlines', () => import('../pages/inventory/deadlines.page.js'), 'DeadlinesPage'),
  page('/rules', () => import('../pages/inventory/rules.page.js'), 'RulesPage'),
  page('/names', () => import('../pages/inventory/own-names.page.js'), 'OwnNamesPage'),
  page('/rules/$id', () => import('../pages/inventory/rule.page.js'), 'RulePage'),
  page('/imports', () => import('../pages/inventory/imports.page.js'), 'ImportsPage'),
  page('/imports/$id', () => import('../pages/inventory/import.page.js'), 'ImportPage'),
  page('/documents', () => import('../pages/inventory/documents.page.js'), 'DocumentsPage'),
  page('/conflicts', () => import('../pages/inventory/conflicts.page.js'), 'ConflictsPage'),
  page('/attestations', () => import('../pages/inventory/attestations.page.js'), 'AttestationsPage'),
  page('/attestations/$id', () => import('../pages/inventory/attestation.page.js'), 'AttestationPage'),
  page('/hosts', () => import('../pages/ssh/hosts.page.js'), 'HostsPage'),
  page('/hosts/$id', () => import('../pages/ssh/host.page.js'), 'HostPage'),
  page('/host-authorities', () => import('../pages/ssh/host-authorities.page.js'), 'HostAuthoritiesPage'),
  page('/rotations', () => import('../pages/rotations/rotations.page.js'), 'RotationsPage'),
  page('/rotations/$id', () => import('../pages/rotations/rotation.page.js'), 'RotationPage'),
  page('/rotation-policies', () => import('../pages/rotations/rotation-policies.page.js'), 'RotationPoliciesPage'),
  page('/jurisdictions', () => import('../pages/inventory/jurisdictions.page.js'), 'JurisdictionsPage'),
  page('/policy-packs', () => import('../pages/inventory/policy-packs.page.js'), 'PolicyPacksPage'),
  page('/policy-packs/$id', () => import('../pages/inventory/policy-pack.page.js'), 'PolicyPackPage'),
  page('/scans', () => import('../pages/scans/scans.page.js'), 'ScansPage'),
  page('/scans/$id', () => import('../pages/scans/scan.page.js'), 'ScanPage'),
  page('/scan-scopes', () => import('../pages/scans/scan-scopes.page.js'), 'ScanScopesPage'),
  page('/schedules', () => import('../pages/schedules/schedules.page.js'), 'SchedulesPage'),
  page('/schedules/$id', () => import('../pages/schedules/schedule.page.js'), 'SchedulePage'),
  page('/sensors', () => import('../pages/sensors/sensors.page.js'), 'SensorsPage'),
  page('/sensors/$id', () => import('../pages/sensors/sensor.page.js'), 'SensorPage'),
  page('/alerts', () => import('../pages/alerts/alerts.page.js'), 'AlertsPage'),
  page('/alerts/$id', () => import('../pages/alerts/alert.page.js'), 'AlertPage'),
  page('/settings/alert-rules', () => import('../pages/alerts/alert-rules.page.js'), 'AlertRulesPage'),
  page('/ssh-keys', () => import('../pages/ssh/ssh-keys.page.js'), 'SshKeysPage'),
  page('/ssh-keys/$id', () => import('../pages/ssh/ssh-key.page.js'), 'SshKeyPage'),
  page('/ssh-authorities', () => import('../pages/ssh/ssh-authorities.page.js'), 'SshAuthoritiesPage'),
  page('/ssh-authorities/$id', () => import('../pages/ssh/ssh-authority.page.js'), 'SshAuthorityPage'),
  page('/ssh-login-rules', () => import('../pages/ssh/ssh-login-rules.page.js'), 'SshLoginRulesPage'),
  page('/audit', () => import('../pages/system/audit.page.js'), 'AuditPage'),
  page('/health', () => import('../pages/system/health.page.js'), 'HealthPage'),
  page('/settings/api-keys', () => import('../pages/settings/api-keys.page.js'), 'ApiKeysPage'),
  page('/settings/oauth-clients', () => import('../pages/settings/oauth-clients.page.js'), 'OAuthClientsPage'),
  page('/settings/users', () => import('../pages/settings/users.page.js'), 'UsersPage'),
  page('/settings/sign-in', () => import('../pages/settings/sign-in.page.js'), 'SignInSettingsPage'),
  page('/settings/workload-issuers', () => import('../pages/settings/workload-issuers.page.js'), 'WorkloadIssuersPage'),
  page('/settings/workload-trusts', () => import('../pages/settings/workload-trusts.page.js'), 'WorkloadTrustsPage'),
  page('/settings/webhooks', () => import('../pages/settings/webhooks.page.js'), 'WebhooksPage'),
  page('/settings/webhooks/$id', () => import('../pages/settings/webhook.page.js'), 'WebhookPage'),
  page('/settings/general', () => import('../pages/settings/general.page.js'), 'GeneralSettingsPage'),
  page('/profile', () => import('../pages/profile/profile.page.js'), 'ProfilePage'),
];

export const router = createRouter({
  routeTree: root.addChildren(pages),
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  defaultErrorComponent: Crashed,
  scrollRestoration: true,
});
