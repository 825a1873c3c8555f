import type { Scope } from '../../src/access/scopes.js';

/**
 * Scopes whose operations need no step-up, because the operations only use existing rights and neither grant access nor lift a limit. All other scopes are
 * administrative.
 */
export const EVERYDAY_SCOPES: Partial<Record<Scope, string>> = {
  'alerts:write': 'alerts and their rules change no right',
  'approvals:read': 'reads',
  'audit:read': 'reads',
  'discovery:run': 'scans stay within the scan scopes that administrators set, after step-up',
  'hosts:read': 'reads',
  'inventory:read': 'reads',
  'inventory:report': 'reports assets',
  'inventory:write': 'records and judges assets; no right depends on them',
  'keys:read': 'reads',
  'schedules:read': 'reads',
  'schedules:write': 'runs scans and checks that its owner may run at any time; no schedule grants access',
  'sensors:read': 'reads',
  'sensors:report': 'reports as a sensor',
  'settings:read': 'reads',
  'sign:digest': 'approval policies and key constraints decide about signatures',
  'sign:read': 'reads',
  'signing-keys:read': 'reads',
  'ssh-ca:login': 'login rules decide about certificates',
  'system:read': 'reads',
  'timestamps:issue': 'issues timestamps over any hash',
  'users:read': 'reads',
  'webhooks:read': 'reads',
};

const ENDS = 'ends a right; during an incident this must work at once';
const SMALLER = 'continues or ends a rotation that was started after a step-up';

/** Operations that change something under an administrative scope or in the caller's own account but need no step-up, each with the reason. */
export const WITHOUT_STEP_UP: Readonly<Record<string, string>> = {
  'DELETE /api/settings/api-keys/{id}': ENDS,
  'DELETE /api/settings/oauth-clients/{id}': ENDS,
  'DELETE /api/settings/invitations/{id}': ENDS,
  'DELETE /api/settings/users/{id}/sessions': ENDS,
  'DELETE /api/sensors/{id}': ENDS,
  'POST /api/sensors/{id}/disable': ENDS,
  'DELETE /v1/hosts/{id}': ENDS,
  'POST /v1/hosts/{id}/host-keys/{keyId}/reject': ENDS,
  'POST /v1/hosts/{id}/test-connection':
    'logs in to a host as every task of the service does, and only where its key is trusted',
  'DELETE /v1/rotation-policies/{id}': 'stops automatic rotations',
  'POST /v1/rotations/{id}/confirm': SMALLER,
  'POST /v1/rotations/{id}/retry': SMALLER,
  'POST /v1/rotations/{id}/rollback': SMALLER,
  'POST /v1/rotations/{id}/targets/{targetId}/skip': SMALLER,
  'POST /api/settings/identity-providers/test/{name}':
    'reads what a provider publishes, at addresses that were saved after a step-up',
  'POST /api/settings/identity-providers/test/{name}/sign-in':
    'shows what a sign-in of the person at the provider would do, and changes nothing',
  'POST /api/settings/identity-providers/test-results':
    'reads the result of such a test once, and records the NameID format if none is known',
  'POST /api/webhooks/{id}/test': 'sends a test event to an address that was saved after a step-up',
  'POST /api/webhooks/deliveries/{id}/redeliver': 'sends an event again to an address that was saved after a step-up',
  'DELETE /api/auth/sessions': ENDS,
  'DELETE /api/auth/sessions/{id}': ENDS,
  'POST /api/auth/logout': ENDS,
  'POST /api/auth/sso/logout': ENDS,
  'POST /api/auth/device/{userCode}/deny': 'refuses a device',
  'POST /api/auth/password': 'requires the current password',
  'POST /api/auth/step-up': 'is the step-up',
  'POST /api/auth/step-up/sso': 'is the step-up',
  'POST /api/v1/approvals/{id}/withdraw': 'ends an own request',
  'POST /v1/auth/token/lookup-self': 'reads',
  'POST /v1/sys/capabilities-self': 'reads',
  'PUT /v1/sys/capabilities-self': 'reads',
  'POST /swagger-ui/session': 'opens the API explorer, which calls the operations listed here',
};
