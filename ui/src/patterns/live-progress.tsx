import { Progress, ProgressMeasureLocation, ProgressVariant } from '@patternfly/react-core';
import { useEffect, useRef } from 'react';
import { useI18n } from '../i18n/i18n.js';
import { duration } from './moment.js';
import { useToast } from './toasts.js';

interface LiveProgressProps {
  readonly name: string;
  /** Percentage as an integer, computed by the service. */
  readonly percent: number;
  /** Count as text. */
  readonly counted: string;
  readonly startedAt?: string | undefined;
  readonly isOver: boolean;
  readonly isGood: boolean;
  /** Toast when the work ends while the page is open. */
  readonly end: string;
}

const ENOUGH = 10;
const ALL = 100;

/** LiveProgress shows the percentage and, from 10% on, the estimated remaining time of a long-running task, and a toast when it ends. */
export function LiveProgress({ name, percent, counted, startedAt, isOver, isGood, end }: LiveProgressProps) {
  const { t, language } = useI18n();
  const notify = useToast();
  const wasOpen = useRef(false);
  useEffect(() => {
    if (isOver && wasOpen.current) notify(end, isGood ? 'success' : 'danger');
    wasOpen.current = !isOver;
  }, [isOver, isGood, end, notify]);
  const spent = startedAt === undefined ? 0 : Date.now() - Date.parse(startedAt);
  const left = isOver || percent < ENOUGH ? undefined : (spent / percent) * (ALL - percent);
  return (
    <Progress
      aria-label={name}
      title={name}
      value={percent}
      measureLocation={ProgressMeasureLocation.top}
      {...(isOver ? { variant: isGood ? ProgressVariant.success : ProgressVariant.danger } : {})}
      helperText={[counted, left !== undefined && t('progress.left', { time: duration(left, language) })]
        .filter(Boolean)
        .join(' · ')}
    />
  );
}
