import { Button } from '@patternfly/react-core';
import PassportIcon from '@patternfly/react-icons/dist/esm/icons/passport-icon';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import { listWorkloadIssuersOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changeWorkloadIssuer, createWorkloadIssuer, removeWorkloadIssuer } from '../../api/generated/sdk.gen.js';
import type { WorkloadIssuerView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';

const CHANGES = { changes: ['listWorkloadIssuers', 'listWorkloadTrusts'] };
const KEY_SOURCES: readonly WorkloadIssuerView['keySource'][] = ['discovery', 'uploaded'];

type Dialog =
  | { readonly kind: 'edit'; readonly of?: WorkloadIssuerView }
  | { readonly kind: 'remove'; readonly of: WorkloadIssuerView };

/** WorkloadIssuersPage lists the issuers whose tokens identify workloads. */
export function WorkloadIssuersPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const canWrite = may('settings:write');
  const toggle = useAction(
    ({ id, name, enabled, version }: WorkloadIssuerView) =>
      changeWorkloadIssuer({ path: { id }, body: { name, enabled: !enabled }, headers: ifMatch(version) }),
    { ...CHANGES, done: t('saved') },
  );
  const add = canWrite && <Button onClick={() => setDialog({ kind: 'edit' })}>{t('issuers.create')}</Button>;
  return (
    <PageFrame title={t('nav.workloadIssuers')} lead={t('issuers.lead')} actions={add}>
      <ResourceList<WorkloadIssuerView>
        name={t('nav.workloadIssuers')}
        list={(query) => listWorkloadIssuersOptions({ query })}
        rowKey={({ id }) => id}
        icon={PassportIcon}
        emptyTitle={t('issuers.none')}
        emptyBody={t('issuers.none.body')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 20, cell: ({ name }) => <strong>{name}</strong> },
          { name: t('status'), cell: ({ enabled }) => <StatusLabel status={enabled ? 'ACTIVE' : 'DISABLED'} /> },
          {
            name: t('issuers.issuer'),
            width: 30,
            cell: ({ issuer }) => <span className="sw-mono sw-break">{issuer}</span>,
          },
          {
            name: t('issuers.keys'),
            cell: ({ keySource, keys }) =>
              t('issuers.keys.of', { source: named('keySource', keySource), count: keys.length }),
          },
          {
            name: t('issuers.read'),
            cell: ({ keysReadAt }) => (keysReadAt === null ? t('never') : <Moment at={keysReadAt} />),
          },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              canWrite && (
                <RowActions
                  of={row.name}
                  actions={[
                    { name: t('edit'), run: () => setDialog({ kind: 'edit', of: row }) },
                    { name: t(row.enabled ? 'disable' : 'enable'), run: () => toggle.mutate(row) },
                    { name: t('remove'), run: () => setDialog({ kind: 'remove', of: row }), isDanger: true },
                  ]}
                />
              ),
          },
        ]}
      />
      {dialog?.kind === 'edit' && <EditIssuer {...dialog} onClose={() => setDialog(undefined)} />}
      {dialog?.kind === 'remove' && <RemoveIssuer {...dialog} onClose={() => setDialog(undefined)} />}
    </PageFrame>
  );
}

function EditIssuer({ of, onClose }: { of?: WorkloadIssuerView; onClose: () => void }) {
  const { t, named } = useI18n();
  const action = useAction(
    async ({ keySource: _chosen, ...values }: Values, once): Promise<{ data: unknown }> => {
      if (of === undefined) return createWorkloadIssuer({ body: values as never, headers: once });
      const body = { ...values, enabled: of.enabled } as never;
      return changeWorkloadIssuer({ path: { id: of.id }, body, headers: ifMatch(of.version) });
    },
    { ...CHANGES, done: t('saved') },
  );
  const keys: Field = {
    name: 'jwks',
    kind: 'json',
    label: t('issuers.jwks'),
    isRequired: true,
    hint: t('issuers.jwks.hint'),
    value: { keys: [] },
    when: ({ keySource }) => keySource === 'uploaded',
  };
  const ofNew: Field[] = [
    {
      name: 'issuer',
      label: t('issuers.issuer'),
      isRequired: true,
      hint: t('issuers.issuer.hint'),
      placeholder: 'https://token.actions.githubusercontent.com',
    },
    {
      name: 'keySource',
      kind: 'choice',
      label: t('issuers.keys'),
      isRequired: true,
      hint: t('issuers.keys.hint'),
      options: KEY_SOURCES.map((value) => ({ value, label: named('keySource', value) })),
    },
    keys,
  ];
  return (
    <FormDialog
      title={of?.name ?? t('issuers.create')}
      {...(of === undefined ? { lead: t('issuers.create.lead') } : { lead: of.issuer })}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '', placeholder: 'GitHub Actions' },
        ...(of === undefined ? ofNew : []),
      ]}
    />
  );
}

function RemoveIssuer({ of: { id, name }, onClose }: Extract<Dialog, { kind: 'remove' }> & { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => removeWorkloadIssuer({ path: { id } }), {
    ...CHANGES,
    done: t('removed'),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('issuers.remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
