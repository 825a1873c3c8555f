import {
  ActionList,
  ActionListItem,
  Button,
  Card,
  CardBody,
  CardTitle,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getAlertOptions, listAlertNotificationsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { acknowledgeAlert, changeAlert, notifyAlert, reopenAlert, resolveAlert } from '../../api/generated/sdk.gen.js';
import type { AlertView, NotificationView } from '../../api/generated/types.gen.js';
import { ifMatch } from '../../api/client.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { changedValues, type Field, type Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { Person, useUserOptions } from '../../patterns/person.js';
import { Problem } from '../../patterns/problem.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useToast } from '../../patterns/toasts.js';
import { useAction } from '../../patterns/use-action.js';
import { Severity } from './alerts.page.js';

const ACTS = { acknowledge: acknowledgeAlert, resolve: resolveAlert, reopen: reopenAlert };
type Act = keyof typeof ACTS;

export function AlertPage() {
  const { t } = useI18n();
  const query = useQuery(getAlertOptions({ path: { id: useResourceId() } }));
  return (
    <ResourcePage
      query={query}
      kind={t('alert')}
      parent={{ to: '/alerts', name: t('nav.alerts') }}
      title={(alert) => alert.title}
      badge={(alert) => (
        <>
          <Severity severity={alert.severity} />
          <StatusLabel status={alert.status} />
        </>
      )}
      actions={(alert) => <Actions alert={alert} />}
    >
      {(alert) => <Details alert={alert} />}
    </ResourcePage>
  );
}

function Actions({ alert }: { alert: AlertView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const { id, status, title } = alert;
  const [act, setAct] = useState<Act>();
  const [isOwning, setOwning] = useState(false);
  const notify = useToast();
  const action = useAction(
    (values: Values): Promise<{ data: unknown }> => ACTS[act ?? 'acknowledge']({ path: { id }, body: values }),
    { changes: ['getAlert', 'listAlert'], done: t('saved') },
  );
  const tell = useAction((_nothing: undefined) => notifyAlert({ path: { id } }), {
    changes: ['getAlert', 'listAlert'],
    onDone: ({ items }) => notify(t(items.length === 0 ? 'alert.notNotified' : 'alert.notified')),
  });
  if (!may('alerts:write')) return null;
  const usable: readonly Act[] =
    status === 'RESOLVED' ? ['reopen'] : status === 'ACKNOWLEDGED' ? ['resolve'] : ['acknowledge', 'resolve'];
  return (
    <>
      <ActionList>
        {usable.map((one) => (
          <ActionListItem key={one}>
            <Button variant="secondary" onClick={() => setAct(one)}>
              {t(`alert.${one}`)}
            </Button>
          </ActionListItem>
        ))}
        <ActionListItem>
          <Button variant="secondary" onClick={() => setOwning(true)}>
            {t('alert.assign')}
          </Button>
        </ActionListItem>
        {status !== 'RESOLVED' && (
          <ActionListItem>
            <Button variant="secondary" isDisabled={tell.isPending} onClick={() => tell.mutate(undefined)}>
              {t('alert.notify')}
            </Button>
          </ActionListItem>
        )}
      </ActionList>
      {tell.isError && <Problem error={tell.error} />}
      {isOwning && <OwnDialog alert={alert} onClose={() => setOwning(false)} />}
      {act !== undefined && (
        <FormDialog
          title={t(`alert.${act}`)}
          lead={title}
          submit={t(`alert.${act}`)}
          action={action}
          onClose={() => setAct(undefined)}
          fields={[{ name: 'comment', kind: 'area', label: t('approval.comment') }]}
        />
      )}
    </>
  );
}

function OwnDialog({ alert, onClose }: { alert: AlertView; onClose: () => void }) {
  const { t } = useI18n();
  const { caller } = useSession();
  const people = useUserOptions();
  const self = caller === undefined ? [] : [{ value: caller.id, label: caller.name }];
  const fields: Field[] = [
    {
      name: 'ownerId',
      kind: 'choice',
      label: t('asset.owner'),
      options: people ?? self,
      value: alert.ownerId ?? '',
    },
    { name: 'mutedUntil', kind: 'day', label: t('alerts.muted'), value: alert.mutedUntil?.slice(0, 10) ?? '' },
  ];
  const action = useAction(
    (values: Values) =>
      changeAlert({
        path: { id: alert.id },
        body: changedValues(fields, values),
        headers: ifMatch(alert.version),
      }),
    { changes: ['getAlert', 'listAlert'], done: t('saved') },
  );
  return (
    <FormDialog
      title={t('alert.assign')}
      lead={t('alert.assign.lead')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={fields}
    />
  );
}

function Details({ alert }: { alert: AlertView }) {
  const { t, named } = useI18n();
  const notifications = useQuery(listAlertNotificationsOptions({ path: { id: alert.id } }));
  return (
    <Stack hasGutter>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [t('alerts.subject'), alert.subject.name],
                [t('alerts.count'), alert.count],
                [t('alerts.first'), <Moment key="f" at={alert.firstAt} exact />],
                [t('alerts.last'), <Moment key="l" at={alert.lastAt} exact />],
                [t('asset.owner'), alert.ownerId && <Person key="o" id={alert.ownerId} />],
                [t('alerts.resolvedBy'), alert.resolvedBy],
                [t('alerts.muted'), alert.mutedUntil && <Moment key="m" at={alert.mutedUntil} exact />],
                ...Object.entries(alert.facts).map(
                  ([name, value]) => [named('alertFact', name), [value].flat().join(', ')] as const,
                ),
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('alerts.notifications')}</CardTitle>
          <CardBody>
            <DataTable<NotificationView>
              name={t('alerts.notifications')}
              query={notifications}
              rowKey={({ id }) => id}
              empty={<p className="sw-muted">{t('alerts.notNotified')}</p>}
              columns={[
                { name: t('alerts.channel'), cell: ({ channel }) => named('channel', channel) },
                { name: t('alerts.recipient'), width: 30, cell: ({ recipient }) => recipient },
                { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
                { name: t('webhooks.attempts'), cell: ({ attempts }) => attempts },
                { name: t('imports.detail'), cell: ({ failure }) => failure ?? '–' },
                { name: t('audit.at'), cell: ({ at }) => <Moment at={at} /> },
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
    </Stack>
  );
}
