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
  /** `once`: a lasting condition counts once, however often it is reported. `each`: every event counts. */
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
    advice: 'Open the assets of this source, worst first; each shows the rule that judged it and a replacement.',
  },
  'asset-new': {
    events: ['asset.found'],
    counts: 'each',
    headline: 'New cryptographic assets',
    advice: 'Check whether they are intended, and who owns them.',
  },
  'risk-changed': {
    events: ['asset.risk-changed'],
    counts: 'each',
    headline: 'The risk of assets changed',
    advice: 'Compare with the last scan of this source: something was reconfigured, or a rule judges differently.',
  },
  'certificate-expiring': {
    events: ['certificate.ending'], // certificates in the inventory are found by CertificateWatcher
    counts: 'once',
    headline: 'A certificate expires soon',
    advice: 'Renew it where it is used and scan again. The alert resolves when the old certificate is no longer found.',
  },
  'policy-violation': {
    events: ['policy.violated'],
    counts: 'once',
    headline: 'A policy is violated',
    advice:
      'Evaluate the policy pack to see the assets that violate the requirement. The alert resolves with the next check that finds none.',
  },
  'sensor-silent': {
    events: ['sensor.silent'],
    counts: 'once',
    headline: 'A sensor is silent',
    advice: 'Check whether its machine runs and reaches this service, and whether its API key is valid.',
  },
  'scan-failed': {
    events: ['scan.failed'],
    counts: 'each',
    headline: 'A scan failed',
    advice: 'Open the run to see where it stopped. Correct the cause and run it again.',
  },
  'rotation-critical': {
    events: ['rotation.critical'],
    counts: 'each',
    headline: 'A key rotation needs a person',
    advice: 'Open the rotation to see which hosts have which key. Both keys stay valid until you decide.',
  },
  'host-key-changed': {
    events: ['host.key-changed'],
    counts: 'once',
    headline: 'A host key changed',
    advice:
      'Treat it as an attack until the new key is confirmed from a trusted source, then accept or reject it. The service does not log in to the host until then.',
  },
  drift: {
    events: ['ssh-key.drift'],
    counts: 'each',
    headline: 'A key that was removed is back',
    advice: 'Find out who or what added it (often configuration management), and remove it at its origin.',
  },
  'approvals-waiting': {
    events: ['approval.waiting'],
    counts: 'once',
    headline: 'An approval is waiting',
    advice: 'Members of the approver group: review the request, then approve or reject it.',
  },
  'hsm-down': {
    events: ['hsm.down'],
    counts: 'once',
    headline: 'The HSM does not answer',
    advice:
      'Nothing is signed until the HSM responds; requests wait and are signed later. Check /actuator/health and the HSM.',
  },
  'database-changed': {
    events: ['row.refused', 'catalogue.changed'],
    counts: 'each',
    headline: 'The database was changed outside the service',
    advice:
      'Find out who can write to the database and change its passwords. Run sealwright-admin doctor, and follow docs/runbook.md, "rows".',
  },
};
