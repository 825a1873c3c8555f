export const ALERT_STATUSES = ['OPEN', 'ACKNOWLEDGED', 'RESOLVED', 'REOPENED'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

/** What people may do with an alert in which state, and what it becomes. New events turn RESOLVED into REOPENED as well. */
export const ALERT_MOVES = {
  acknowledge: { from: ['OPEN', 'REOPENED'], to: 'ACKNOWLEDGED' },
  resolve: { from: ['OPEN', 'REOPENED', 'ACKNOWLEDGED'], to: 'RESOLVED' },
  reopen: { from: ['RESOLVED', 'ACKNOWLEDGED'], to: 'REOPENED' },
} as const satisfies Record<string, { from: readonly AlertStatus[]; to: AlertStatus }>;

export type AlertMove = keyof typeof ALERT_MOVES;
