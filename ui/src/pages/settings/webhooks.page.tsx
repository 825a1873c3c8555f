import { Button, Label } from '@patternfly/react-core';
import GlobeIcon from '@patternfly/react-icons/dist/esm/icons/globe-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import { listEventTypesOptions, listWebhooksOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import {
  changeWebhook,
  createWebhook,
  removeWebhook,
  rotateWebhookSecret,
  testWebhook,
} from '../../api/generated/sdk.gen.js';
import type { NewWebhookView, WebhookView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Option, Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { SecretOnce } from '../../patterns/secret-once.js';
import { useAction } from '../../patterns/use-action.js';

const FORMATS = ['standard', 'slack', 'teams'];

type Act = 'secret' | 'remove';

export function WebhooksPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [isCreating, setCreating] = useState(false);
  const [act, setAct] = useState<{ readonly kind: Act; readonly of: WebhookView }>();
  const [made, setMade] = useState<{ readonly name: string; readonly secret: string }>();
  const changes = ['listWebhooks', 'listWebhookDeliveries'];
  const show = ({ name, secret }: NewWebhookView) => secret !== undefined && setMade({ name, secret });
  const create = useAction((values: Values, once) => createWebhook({ body: values as never, headers: once }), {
    changes,
    onDone: show,
  });
  const test = useAction((id: string) => testWebhook({ path: { id } }), { changes, done: t('webhooks.tested') });
  const toggle = useAction(
    ({ id, enabled, version }: WebhookView) =>
      changeWebhook({ path: { id }, body: { enabled: !enabled }, headers: ifMatch(version) }),
    { changes, done: t('saved') },
  );
  const fields = useWebhookFields();
  const canWrite = may('webhooks:write');
  const add = canWrite && <Button onClick={() => setCreating(true)}>{t('webhooks.create')}</Button>;
  return (
    <PageFrame title={t('nav.webhooks')} lead={t('webhooks.lead')} actions={add}>
      <ResourceList<WebhookView>
        name={t('nav.webhooks')}
        list={() => listWebhooksOptions()}
        rowKey={({ id }) => id}
        icon={GlobeIcon}
        emptyTitle={t('webhooks.none')}
        emptyAction={add}
        columns={[
          {
            name: t('name'),
            width: 20,
            cell: ({ id, name }) => (
              <Go to={`/settings/webhooks/${id}`} className="sw-row-link">
                {name}
              </Go>
            ),
          },
          { name: t('status'), cell: ({ enabled }) => <StatusLabel status={enabled ? 'ACTIVE' : 'DISABLED'} /> },
          { name: t('requests.format'), cell: ({ format }) => named('webhook', format) },
          { name: t('webhooks.url'), width: 30, cell: ({ url }) => <span className="sw-mono">{url}</span> },
          { name: t('webhooks.events'), cell: (row) => <Subscriptions of={row} /> },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              canWrite && (
                <RowActions
                  of={row.name}
                  actions={[
                    { name: t('webhooks.test'), run: () => test.mutate(row.id) },
                    { name: t(row.enabled ? 'disable' : 'enable'), run: () => toggle.mutate(row) },
                    row.format === 'standard' && {
                      name: t('webhooks.secret'),
                      run: () => setAct({ kind: 'secret', of: row }),
                    },
                    { name: t('remove'), run: () => setAct({ kind: 'remove', of: row }), isDanger: true },
                  ]}
                />
              ),
          },
        ]}
      />
      {isCreating && (
        <FormDialog
          title={t('webhooks.create')}
          lead={t('webhooks.create.lead')}
          submit={t('create')}
          action={create}
          onClose={() => setCreating(false)}
          fields={fields}
        />
      )}
      {act !== undefined && <ActDialog {...act} onMade={setMade} onClose={() => setAct(undefined)} />}
      {made !== undefined && (
        <SecretOnce
          title={made.name}
          secrets={[[t('webhooks.theSecret'), made.secret]]}
          onClose={() => setMade(undefined)}
        />
      )}
    </PageFrame>
  );
}

/** Returns the subscriptions to all events of an area and to each of its events, grouped by area. */
function useSubscriptions(): Option[] {
  const { t, named } = useI18n();
  const { data } = useQuery(listEventTypesOptions());
  const areas = Map.groupBy(data?.items ?? [], ({ name }) => name.split('.', 1)[0] ?? '');
  return [...areas].flatMap(([area, types]) => {
    const group = named('eventArea', area);
    return [
      { value: `${area}.*`, label: t('webhooks.allOf', { area: group }), group },
      ...types.map(({ name }) => ({ value: name, label: name, group })),
    ];
  });
}

function useWebhookFields(): Field[] {
  const { t, named } = useI18n();
  const subscriptions = useSubscriptions();
  return [
    { name: 'name', label: t('name'), isRequired: true },
    { name: 'url', kind: 'url', label: t('webhooks.url'), isRequired: true, placeholder: 'https://' },
    {
      name: 'format',
      kind: 'choice',
      label: t('requests.format'),
      isRequired: true,
      options: FORMATS.map((value) => ({ value, label: named('webhook', value) })),
    },
    {
      name: 'events',
      kind: 'choices',
      label: t('webhooks.events'),
      hint: t('webhooks.events.hint'),
      options: [{ value: '*', label: t('webhooks.all') }, ...subscriptions],
    },
  ];
}

/** Subscriptions lists the events of a webhook, including events of earlier versions that no longer occur. */
function Subscriptions({ of: { events, eventsWithoutEffect } }: { readonly of: WebhookView }) {
  const { t } = useI18n();
  const names = eventsWithoutEffect.join(', ');
  return (
    <>
      {events.join(', ') || '–'}
      {names !== '' && (
        <Label color="orange" isCompact>
          {t('webhooks.eventsWithoutEffect', { names })}
        </Label>
      )}
    </>
  );
}

interface ActProps {
  readonly kind: Act;
  readonly of: WebhookView;
  readonly onMade: (made: { name: string; secret: string }) => void;
  readonly onClose: () => void;
}

function ActDialog({ kind, of: { id, name }, onMade, onClose }: ActProps) {
  const { t } = useI18n();
  const action = useAction(
    async (_values: Values): Promise<{ data: unknown }> =>
      kind === 'remove' ? removeWebhook({ path: { id } }) : rotateWebhookSecret({ path: { id }, body: {} }),
    {
      changes: ['listWebhooks'],
      onDone: (made) => {
        const { secret } = (made ?? {}) as { secret?: string };
        if (secret !== undefined) onMade({ name, secret });
      },
    },
  );
  const title = t(kind === 'remove' ? 'remove' : 'webhooks.secret');
  return (
    <Confirm
      title={title}
      lead={t(`webhooks.${kind}.lead`, { name })}
      submit={title}
      action={action}
      onClose={onClose}
    />
  );
}
