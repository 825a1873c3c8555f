import { useQuery } from '@tanstack/react-query';
import { listSensorsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { ScheduleView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import type { Field, Values } from '../../patterns/form-fields.js';

export const SENSOR_SCAN = 'sensor-scan';
const NIGHTLY = '30 2 * * *';
const HOURLY = 3600;

/** useScheduleFields returns the fields for the recurrence and the target: a sensor by name, or another task with its settings. */
export function useScheduleFields(of?: ScheduleView): Field[] {
  const { t, named } = useI18n();
  const { may } = useSession();
  const sensors = useQuery({ ...listSensorsOptions({ query: { limit: 200 } }), enabled: may('sensors:read') });
  const isSensor = ({ target }: Values) => target === SENSOR_SCAN;
  const { sensor, ...others } = of?.settings ?? {};
  const target: Field[] = [
    {
      name: 'target',
      label: t('schedules.target'),
      hint: t('schedules.target.hint'),
      isRequired: true,
      value: SENSOR_SCAN,
    },
    {
      name: 'sensor',
      kind: 'choice',
      label: t('sensor'),
      isRequired: true,
      when: isSensor,
      options: (sensors.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name })),
    },
  ];
  return [
    ...useDueFields(of),
    ...(of === undefined ? target : []),
    {
      name: 'settings',
      kind: 'json',
      label: t('schedules.settings'),
      hint: t('schedules.settings.hint'),
      value: sensor === undefined ? others : { sensor, ...others },
    },
    {
      name: 'missed',
      kind: 'choice',
      label: t('schedules.missed'),
      isRequired: true,
      value: of?.missed ?? 'once',
      options: ['once', 'skip'].map((value) => ({ value, label: named('missed', value) })),
    },
    {
      name: 'timeoutMinutes',
      kind: 'number',
      label: t('schedules.timeout'),
      min: 1,
      max: 10_080,
      value: of?.timeoutMinutes ?? 1440,
    },
  ];
}

/** useDueFields returns the fields for the name and the recurrence, by cron expression or by interval. */
function useDueFields(of?: ScheduleView): Field[] {
  const { t } = useI18n();
  const isCron = ({ by }: Values) => by === 'cron';
  return [
    { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '' },
    {
      name: 'by',
      kind: 'choice',
      label: t('schedules.by'),
      isRequired: true,
      value: of?.intervalSeconds == null ? 'cron' : 'interval',
      options: (['cron', 'interval'] as const).map((value) => ({ value, label: t(`schedules.by.${value}`) })),
    },
    {
      name: 'cron',
      label: t('schedules.cron'),
      hint: t('schedules.cron.hint'),
      isRequired: true,
      when: isCron,
      value: of?.cron ?? NIGHTLY,
    },
    {
      name: 'timeZone',
      label: t('schedules.timeZone'),
      isRequired: true,
      when: isCron,
      value: of?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
    {
      name: 'intervalSeconds',
      kind: 'number',
      label: t('schedules.interval'),
      isRequired: true,
      min: 60,
      max: 31_536_000,
      when: (values) => !isCron(values),
      value: of?.intervalSeconds ?? HOURLY,
    },
  ];
}

/** scheduleBody returns the request body. */
export function scheduleBody({ by: _by, sensor, settings, ...rest }: Values): never {
  const named = sensor === undefined ? {} : { sensor };
  return { ...rest, settings: { ...named, ...(settings as object) } } as never;
}
