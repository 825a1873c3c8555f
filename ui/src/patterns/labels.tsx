import { Label, type LabelProps } from '@patternfly/react-core';
import BanIcon from '@patternfly/react-icons/dist/esm/icons/ban-icon';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import ClockIcon from '@patternfly/react-icons/dist/esm/icons/clock-icon';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon';
import InProgressIcon from '@patternfly/react-icons/dist/esm/icons/in-progress-icon';
import InfoCircleIcon from '@patternfly/react-icons/dist/esm/icons/info-circle-icon';
import UserClockIcon from '@patternfly/react-icons/dist/esm/icons/user-clock-icon';
import type { ComponentType } from 'react';
import { useI18n } from '../i18n/i18n.js';

type Look = readonly [LabelProps['color'], ComponentType];

export const LEVELS = ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'NONE'] as const;
export type Level = (typeof LEVELS)[number];

const OF_LEVEL: Record<Level, Look> = {
  CRITICAL: ['red', ExclamationCircleIcon],
  HIGH: ['orange', ExclamationTriangleIcon],
  MEDIUM: ['yellow', ExclamationTriangleIcon],
  LOW: ['teal', InfoCircleIcon],
  NONE: ['green', CheckCircleIcon],
};

const GOOD: Look = ['green', CheckCircleIcon];
const BAD: Look = ['red', ExclamationCircleIcon];
const BUSY: Look = ['blue', InProgressIcon];
const WAITS: Look = ['yellow', UserClockIcon];
const OFF: Look = ['grey', BanIcon];
const QUEUED: Look = ['grey', ClockIcon];

/** Color and icon of each status, for all resources. The status is always written out too, because color alone is not accessible. */
const STATUS_STYLES: Readonly<Record<string, Look>> = {
  SIGNED: GOOD,
  ISSUED: GOOD,
  ACTIVE: GOOD,
  CURRENT: GOOD,
  UP: GOOD,
  SUCCEEDED: GOOD,
  COMPLETED: GOOD,
  APPROVED: GOOD,
  active: GOOD,
  done: GOOD,
  DONE: GOOD,
  DELIVERED: GOOD,
  RESOLVED: GOOD,
  reachable: GOOD,
  pinned: GOOD,
  FAILED: BAD,
  DOWN: BAD,
  REJECTED: BAD,
  REFUSED: BAD,
  failed: BAD,
  CRITICAL: BAD,
  HALTED: BAD,
  GIVEN_UP: BAD,
  SILENT: BAD,
  OPEN: BAD,
  REOPENED: BAD,
  unreachable: BAD,
  changed: BAD,
  FORGOTTEN: OFF,
  DEGRADED: ['orange', ExclamationTriangleIcon],
  stale: ['orange', ExclamationTriangleIcon],
  PROCESSING: BUSY,
  READY: BUSY,
  RUNNING: BUSY,
  STARTED: BUSY,
  RETRY: WAITS,
  JUDGING: BUSY,
  RETIRING: WAITS,
  ROLLING_BACK: BUSY,
  SURVEYING: BUSY,
  GENERATING: BUSY,
  QUEUED,
  NEXT: QUEUED,
  PENDING: WAITS,
  AWAITING_HOLDER: WAITS,
  ACKNOWLEDGED: WAITS,
  'tofu-pending': WAITS,
  throttled: WAITS,
  PENDING_APPROVAL: WAITS,
  AWAITED: WAITS,
  PAUSED: OFF,
  SKIPPED: OFF,
  DUE: QUEUED,
  WAITING: QUEUED,
  DISABLED: OFF,
  EXPIRED: OFF,
  WITHDRAWN: OFF,
  CANCELLED: OFF,
  PREVIOUS: OFF,
  refused: OFF,
  resolved: OFF,
  rejected: OFF,
  RETIRED: OFF,
  SUPERSEDED: OFF,
  unknown: OFF,
  UNKNOWN: OFF,
  REVOKED: OFF,
  OUT_OF_SERVICE: OFF,
};

export function LevelLabel({ level }: { level: Level | null | undefined }) {
  const { t, named } = useI18n();
  if (level === null || level === undefined) return <span className="sw-muted">{t('level.unjudged')}</span>;
  const [color, Icon] = OF_LEVEL[level];
  return (
    <Label color={color ?? 'grey'} icon={<Icon />} isCompact>
      {named('level', level)}
    </Label>
  );
}

export function StatusLabel({ status }: { status: string }) {
  const { named } = useI18n();
  const [color, Icon] = STATUS_STYLES[status] ?? (['grey', InfoCircleIcon] as Look);
  return (
    <Label color={color ?? 'grey'} icon={<Icon />} isCompact>
      {named('status', status)}
    </Label>
  );
}
