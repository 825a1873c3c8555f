import { Button } from '@patternfly/react-core';
import MapMarkedIcon from '@patternfly/react-icons/dist/esm/icons/map-marked-icon';
import { useState } from 'react';
import { listScanScopesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { createScanScope, deleteScanScope } from '../../api/generated/sdk.gen.js';
import type { ScanScopeView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';

const CHANGES = ['listScanScopes', 'getScanScope'];

/** ScanScopesPage lists the networks and names that may be scanned. Only administrators can change them. */
export function ScanScopesPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isCreating, setCreating] = useState(false);
  const [removed, setRemoved] = useState<ScanScopeView>();
  const canWrite = may('admin:*');
  const add = canWrite && <Button onClick={() => setCreating(true)}>{t('scanScopes.create')}</Button>;
  return (
    <PageFrame title={t('nav.scanScopes')} lead={t('scanScopes.lead')} actions={add}>
      <ResourceList<ScanScopeView>
        name={t('nav.scanScopes')}
        list={(query) => listScanScopesOptions({ query })}
        rowKey={({ id }) => id}
        icon={MapMarkedIcon}
        emptyTitle={t('scanScopes.none')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 20, cell: ({ name }) => <strong>{name}</strong> },
          { name: t('scanScopes.networks'), width: 25, cell: ({ networks }) => networks.join(', ') || '–' },
          { name: t('scanScopes.names'), width: 20, cell: ({ names }) => names.join(', ') || '–' },
          { name: t('scans.ports'), cell: ({ ports }) => ports.join(', ') },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              canWrite && (
                <RowActions
                  of={row.name}
                  actions={[{ name: t('remove'), run: () => setRemoved(row), isDanger: true }]}
                />
              ),
          },
        ]}
      />
      {isCreating && <Create onClose={() => setCreating(false)} />}
      {removed !== undefined && <Remove of={removed} onClose={() => setRemoved(undefined)} />}
    </PageFrame>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const create = useAction(
    ({ ports, ...values }: Values, once) =>
      createScanScope({
        body: { ...values, ports: (ports as string[]).map(Number) } as never,
        headers: once,
      }),
    { changes: CHANGES, done: t('saved') },
  );
  return (
    <FormDialog
      title={t('scanScopes.create')}
      lead={t('scanScopes.create.lead')}
      submit={t('create')}
      action={create}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true },
        { name: 'networks', kind: 'lines', label: t('scanScopes.networks'), hint: t('scanScopes.networks.hint') },
        { name: 'names', kind: 'lines', label: t('scanScopes.names'), hint: t('scanScopes.names.hint') },
        { name: 'ports', kind: 'lines', label: t('scans.ports'), isRequired: true, value: '22\n443' },
      ]}
    />
  );
}

function Remove({ of: { id, name }, onClose }: { of: ScanScopeView; onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => deleteScanScope({ path: { id } }), {
    changes: [...CHANGES, 'listScans'],
    done: t('removed'),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('scanScopes.remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
