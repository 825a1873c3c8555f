import { Button } from '@patternfly/react-core';
import CalendarCheckIcon from '@patternfly/react-icons/dist/esm/icons/calendar-check-icon';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { listSchedulesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { createSchedule } from '../../api/generated/sdk.gen.js';
import type { ScheduleView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { duration, Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';
import { scheduleBody, useScheduleFields } from './schedule-fields.js';

const SECOND = 1000;

/** useRecurrence returns a function that formats a recurrence: `30 2 * * * (Europe/Berlin)` or `every 1 hr`. */
export function useRecurrence(): (schedule: ScheduleView) => string {
  const { t, language } = useI18n();
  return ({ cron, timeZone, intervalSeconds }) =>
    cron === null
      ? t('schedules.every', { time: duration((intervalSeconds ?? 0) * SECOND, language) })
      : `${cron} (${timeZone})`;
}

export function SchedulesPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const rhythmOf = useRecurrence();
  const [isCreating, setCreating] = useState(false);
  const add = may('schedules:write') && <Button onClick={() => setCreating(true)}>{t('schedules.create')}</Button>;
  return (
    <PageFrame title={t('nav.schedules')} lead={t('schedules.lead')} actions={add}>
      <ResourceList<ScheduleView>
        name={t('nav.schedules')}
        list={(query) => listSchedulesOptions({ query })}
        rowKey={({ id }) => id}
        icon={CalendarCheckIcon}
        emptyTitle={t('schedules.none')}
        emptyBody={t('schedules.none.body')}
        emptyAction={add}
        columns={[
          {
            name: t('name'),
            width: 25,
            cell: ({ id, name }) => (
              <Go to={`/schedules/${id}`} className="sw-row-link">
                {name}
              </Go>
            ),
          },
          { name: t('schedules.target'), cell: ({ target }) => named('scheduleTarget', target) },
          { name: t('schedules.recurrence'), width: 25, cell: rhythmOf },
          { name: t('status'), cell: ({ enabled }) => <StatusLabel status={enabled ? 'ACTIVE' : 'PAUSED'} /> },
          {
            name: t('schedules.next'),
            cell: ({ next }) => (next[0] === undefined ? '–' : <Moment at={next[0]} exact />),
          },
        ]}
      />
      {isCreating && <Create onClose={() => setCreating(false)} />}
    </PageFrame>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const navigate = useNavigate();
  const fields = useScheduleFields();
  const create = useAction((values: Values, once) => createSchedule({ body: scheduleBody(values), headers: once }), {
    changes: ['listSchedules'],
    done: t('saved'),
    onDone: ({ id }) => void navigate({ to: `/schedules/${id}` }),
  });
  return (
    <FormDialog title={t('schedules.create')} submit={t('create')} action={create} onClose={onClose} fields={fields} />
  );
}
