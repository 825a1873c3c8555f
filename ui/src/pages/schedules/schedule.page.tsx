import {
  ActionList,
  ActionListItem,
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  List,
  ListItem,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import {
  getScheduleOptions,
  getSensorOptions,
  listScheduleRunsOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import { changeSchedule, removeSchedule, runSchedule } from '../../api/generated/sdk.gen.js';
import type { ScheduleRunView, ScheduleView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Command } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { duration, Moment } from '../../patterns/moment.js';
import { Problem } from '../../patterns/problem.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useAction } from '../../patterns/use-action.js';
import { scheduleBody, useScheduleFields } from './schedule-fields.js';
import { useRecurrence } from './schedules.page.js';

const CHANGES = ['getSchedule', 'listSchedule'];
const REFRESH = 5000;
const MINUTE = 60_000;

export function SchedulePage() {
  const { t } = useI18n();
  const query = useQuery(getScheduleOptions({ path: { id: useResourceId() } }));
  return (
    <ResourcePage
      query={query}
      kind={t('schedule')}
      parent={{ to: '/schedules', name: t('nav.schedules') }}
      title={(schedule) => schedule.name}
      badge={(schedule) => <StatusLabel status={schedule.enabled ? 'ACTIVE' : 'PAUSED'} />}
      actions={(schedule) => <Actions schedule={schedule} />}
    >
      {(schedule) => (
        <Stack hasGutter>
          <StackItem>
            <Details schedule={schedule} />
          </StackItem>
          <StackItem>
            <Next schedule={schedule} />
          </StackItem>
          <StackItem>
            <History schedule={schedule} />
          </StackItem>
        </Stack>
      )}
    </ResourcePage>
  );
}

function Actions({ schedule }: { schedule: ScheduleView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<'edit' | 'remove'>();
  const { id, enabled, version } = schedule;
  const run = useAction((_none: undefined) => runSchedule({ path: { id } }), {
    changes: CHANGES,
    done: t('schedules.runs.started'),
  });
  const toggle = useAction(
    (_none: undefined) => changeSchedule({ path: { id }, body: { enabled: !enabled }, headers: ifMatch(version) }),
    { changes: CHANGES, done: t('saved') },
  );
  const close = () => setDialog(undefined);
  if (!may('schedules:write')) return null;
  const failed = run.error ?? toggle.error;
  const button = (name: string, variant: 'primary' | 'secondary' | 'danger', act: () => void) => (
    <ActionListItem key={name}>
      <Button variant={variant === 'danger' ? 'secondary' : variant} isDanger={variant === 'danger'} onClick={act}>
        {name}
      </Button>
    </ActionListItem>
  );
  return (
    <>
      <ActionList>
        {button(t('schedules.runNow'), 'primary', () => run.mutate(undefined))}
        {button(t(enabled ? 'schedules.pause' : 'schedules.resume'), 'secondary', () => toggle.mutate(undefined))}
        {button(t('edit'), 'secondary', () => setDialog('edit'))}
        {button(t('remove'), 'danger', () => setDialog('remove'))}
      </ActionList>
      {failed && <Problem error={failed} />}
      {dialog === 'edit' && <Edit schedule={schedule} onClose={close} />}
      {dialog === 'remove' && <Remove schedule={schedule} onClose={close} />}
    </>
  );
}

interface DialogProps {
  readonly schedule: ScheduleView;
  readonly onClose: () => void;
}

function Edit({ schedule, onClose }: DialogProps) {
  const { t } = useI18n();
  const fields = useScheduleFields(schedule);
  const action = useAction(
    (values: Values) =>
      changeSchedule({ path: { id: schedule.id }, body: scheduleBody(values), headers: ifMatch(schedule.version) }),
    { changes: CHANGES, done: t('saved') },
  );
  return <FormDialog title={t('edit')} submit={t('save')} action={action} onClose={onClose} fields={fields} />;
}

function Remove({ schedule: { id, name }, onClose }: DialogProps) {
  const { t } = useI18n();
  const navigate = useNavigate();
  const action = useAction((_values: Values) => removeSchedule({ path: { id } }), {
    changes: ['listSchedules'],
    done: t('removed'),
    onDone: () => void navigate({ to: '/schedules' }),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('schedules.remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}

function Details({ schedule }: { schedule: ScheduleView }) {
  const { t, named, language } = useI18n();
  const rhythmOf = useRecurrence();
  const { sensor, ...rest } = schedule.settings as Readonly<Record<string, unknown>>;
  return (
    <Card>
      <CardTitle component="h2">{t('request.facts')}</CardTitle>
      <CardBody>
        <Stack hasGutter>
          <StackItem>
            <Facts
              facts={[
                [t('schedules.pausedBecause'), schedule.pausedBecause],
                [t('schedules.target'), named('scheduleTarget', schedule.target)],
                [t('schedules.recurrence'), rhythmOf(schedule)],
                [t('schedules.missed'), named('missed', schedule.missed)],
                [t('schedules.failsAfter'), duration(schedule.timeoutMinutes * MINUTE, language)],
                [t('sensor'), typeof sensor === 'string' && <SensorLink key="s" id={sensor} />],
                [t('created'), <Moment key="c" at={schedule.createdAt} exact />],
              ]}
            />
          </StackItem>
          {Object.keys(rest).length > 0 && (
            <StackItem>
              <Command name={t('schedules.settings')} text={JSON.stringify(rest, null, 2)} />
            </StackItem>
          )}
        </Stack>
      </CardBody>
    </Card>
  );
}

/** SensorLink shows a sensor by name, or by ID if the person may not view sensors. */
function SensorLink({ id }: { id: string }) {
  const { may } = useSession();
  const { data } = useQuery({ ...getSensorOptions({ path: { id } }), enabled: may('sensors:read') });
  return <Go to={`/sensors/${id}`}>{data?.name ?? id}</Go>;
}

/** Next lists the next five runs in the person's time zone. */
function Next({ schedule: { next } }: { schedule: ScheduleView }) {
  const { t } = useI18n();
  return (
    <Card>
      <CardTitle component="h2">{t('schedules.nextRuns')}</CardTitle>
      <CardBody>
        {next.length === 0 ? (
          <Alert component="h3" isInline isPlain variant="info" title={t('schedules.paused')} />
        ) : (
          <List aria-label={t('schedules.nextRuns')}>
            {next.map((at) => (
              <ListItem key={at}>
                <Moment at={at} exact />
              </ListItem>
            ))}
          </List>
        )}
      </CardBody>
    </Card>
  );
}

const isOver = ({ status }: ScheduleRunView): boolean => status !== 'DUE' && status !== 'RUNNING';

function History({ schedule: { id } }: { schedule: ScheduleView }) {
  const { t, named } = useI18n();
  const { one } = useUrlState();
  const cursor = one('cursor');
  const query = useQuery({
    ...listScheduleRunsOptions({ path: { id }, query: cursor === undefined ? {} : { cursor } }),
    refetchInterval: ({ state: { data } }) => (data?.items.every(isOver) === false ? REFRESH : false),
  });
  return (
    <Card>
      <CardTitle component="h2">{t('schedules.runs')}</CardTitle>
      <CardBody>
        <DataTable<ScheduleRunView>
          name={t('schedules.runs')}
          query={query}
          rowKey={(run) => run.id}
          empty={<p className="sw-muted">{t('schedules.runs.none')}</p>}
          columns={[
            { name: t('schedules.dueAt'), cell: ({ dueAt }) => <Moment at={dueAt} exact /> },
            { name: t('schedules.trigger'), cell: ({ trigger }) => named('trigger', trigger) },
            { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
            { name: t('imports.detail'), width: 35, cell: ({ detail }) => detail ?? '–' },
            { name: t('request.finished'), cell: ({ endedAt }) => (endedAt === null ? '–' : <Moment at={endedAt} />) },
          ]}
        />
      </CardBody>
    </Card>
  );
}
