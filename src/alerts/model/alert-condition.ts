import type { AlertEventType } from '../../platform/events/alert-events.js';

export const ALERT_CONDITIONS = [
  'risk-threshold',
  'asset-new',
  'risk-changed',
  'certificate-expiring',
  'policy-violation',
  'sensor-silent',
  'scan-failed',
  'rotation-critical',
  'host-key-changed',
  'drift',
  'approvals-waiting',
  'hsm-down',
  'database-changed',
] as const;
export type AlertConditionName = (typeof ALERT_CONDITIONS)[number];

export const RISK_LEVELS = ['NONE', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type RiskLevel = (typeof RISK_LEVELS)[number];

export interface AlertCondition {
  readonly events: readonly AlertEventType[];
  /** `once`: a lasting condition counts once, regardless of the number of events. `each`: every event counts. */
  readonly counts: 'once' | 'each';
  readonly headline: string;
  readonly advice: string;
}

/** Default number of days before expiry for certificate-expiring. */
export const DEFAULT_DAYS = 30;

/** Rule conditions, with their events and notification texts. */
export const ALERT_CONDITION_RULES: Record<AlertConditionName, AlertCondition> = {
  'risk-threshold': {
    events: ['asset.found', 'asset.risk-changed'],
    counts: 'each',
    headline: 'Assets at high risk',
    advice:
      'Review the assets of this source, highest risk first. Each asset shows the risk rule that applies and a recommended replacement.',
  },
  'asset-new': {
    events: ['asset.found'],
    counts: 'each',
    headline: 'New cryptographic assets',
    advice: 'Check whether the assets are expected, and who owns them.',
  },
  'risk-changed': {
    events: ['asset.risk-changed'],
    counts: 'each',
    headline: 'The risk level of assets changed',
    advice:
      'Compare the result with the previous scan of this source: either its configuration or a risk rule was changed.',
  },
  'certificate-expiring': {
    events: ['certificate.ending'], // InventoryCertificateWatcher covers certificates in the inventory.
    counts: 'once',
    headline: 'A certificate expires soon',
    advice:
      'Renew the certificate where it is used, then scan again. The alert resolves once the old certificate is no longer found.',
  },
  'policy-violation': {
    events: ['policy.violated'],
    counts: 'once',
    headline: 'A policy requirement is violated',
    advice:
      'Evaluate the policy pack to list the assets that violate the requirement. The alert resolves once a check finds no violations.',
  },
  'sensor-silent': {
    events: ['sensor.silent'],
    counts: 'once',
    headline: 'A sensor has stopped reporting',
    advice: 'Check that the machine is running and can reach this service, and that its API key is valid.',
  },
  'scan-failed': {
    events: ['scan.failed'],
    counts: 'each',
    headline: 'A scan failed',
    advice: 'Open the run to see where it failed. Fix the cause, then run the scan again.',
  },
  'rotation-critical': {
    events: ['rotation.critical'],
    counts: 'each',
    headline: 'A key rotation needs attention',
    advice: 'Open the rotation to see which hosts have which key. Both keys stay valid until you decide.',
  },
  'host-key-changed': {
    events: ['host.key-changed'],
    counts: 'once',
    headline: 'A host key changed',
    advice:
      'Treat the change as an attack until the new key is confirmed from a trusted source, then accept or reject the key. The service does not log in to the host until then.',
  },
  drift: {
    events: ['ssh-key.drift'],
    counts: 'each',
    headline: 'A removed key has reappeared',
    advice: 'Find out what added the key (often configuration management), and remove it at the source.',
  },
  'approvals-waiting': {
    events: ['approval.waiting'],
    counts: 'once',
    headline: 'An approval is pending',
    advice: 'If you are a member of the approver group, review the request and approve or reject it.',
  },
  'hsm-down': {
    events: ['hsm.down'],
    counts: 'once',
    headline: 'The HSM is not responding',
    advice:
      'Signing requests are queued and signed once the HSM responds again. Check the HSM and GET /actuator/health.',
  },
  'database-changed': {
    events: ['row.refused', 'catalogue.changed'],
    counts: 'each',
    headline: 'The database was modified outside the service',
    advice:
      'Find out who can write to the database, and change its passwords. Run "sealwright-admin doctor", and follow the section "rows" in docs/runbook.md.',
  },
};
