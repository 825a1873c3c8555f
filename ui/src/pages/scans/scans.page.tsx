import { Button } from '@patternfly/react-core';
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { listScanScopesOptions, listScansOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { createScan } from '../../api/generated/sdk.gen.js';
import type { ScanListView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';

type Status = ScanListView['status'];

const STATUSES: readonly Status[] = ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'];
const KINDS: readonly ScanListView['kind'][] = ['ssh-network', 'tls-network', 'ssh-deep'];
const REFRESH = 2000;
const SHOWN = 3;

export const isScanOver = ({ status }: { readonly status: Status }): boolean =>
  status !== 'QUEUED' && status !== 'RUNNING';

export const targetsOf = (targets: readonly string[]): string =>
  targets.length > SHOWN ? `${targets.slice(0, SHOWN).join(', ')} … (${targets.length})` : targets.join(', ');

/** ScansPage lists and starts scans. Both require `discovery:run`. */
export function ScansPage() {
  const { t, named } = useI18n();
  const [isStarting, setStarting] = useState(false);
  const start = <Button onClick={() => setStarting(true)}>{t('scans.start')}</Button>;
  return (
    <PageFrame title={t('nav.scans')} lead={t('scans.lead')} actions={start}>
      <ResourceList<ScanListView>
        name={t('nav.scans')}
        list={(query) => listScansOptions({ query })}
        rowKey={({ id }) => id}
        icon={SearchIcon}
        refresh={(rows) => (rows.every(isScanOver) ? false : REFRESH)}
        filters={[
          {
            kind: 'choice',
            param: 'status',
            name: t('status'),
            isSingle: true,
            options: STATUSES.map((value) => ({ value, name: named('status', value) })),
          },
        ]}
        emptyTitle={t('scans.none')}
        emptyBody={t('scans.none.body')}
        emptyAction={start}
        columns={[
          {
            name: t('scans.targets'),
            width: 35,
            cell: ({ id, targets }) => (
              <Go to={`/scans/${id}`} className="sw-row-link">
                {targetsOf(targets)}
              </Go>
            ),
          },
          { name: t('kind'), cell: ({ kind }) => named('scanKind', kind) },
          { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
          { name: t('scans.requestedBy'), cell: ({ requestedBy }) => requestedBy },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            name: t('request.finished'),
            cell: ({ finishedAt }) => (finishedAt === undefined ? '–' : <Moment at={finishedAt} />),
          },
        ]}
      />
      {isStarting && <Start onClose={() => setStarting(false)} />}
    </PageFrame>
  );
}

/** hasScope reports whether a scan is limited to a scope. A deep scan logs in to hosts instead. */
const hasScope = ({ kind }: Values): boolean => kind !== 'ssh-deep';

function Start({ onClose }: { onClose: () => void }) {
  const { t, named } = useI18n();
  const navigate = useNavigate();
  const scopes = useQuery(listScanScopesOptions({ query: { limit: 200 } }));
  const action = useAction((values: Values, once) => createScan({ body: values as never, headers: once }), {
    changes: ['listScans'],
    done: t('scans.started'),
    onDone: ({ id }) => void navigate({ to: `/scans/${id}` }),
  });
  if (scopes.data === undefined) return null;
  return (
    <FormDialog
      title={t('scans.start')}
      lead={t(scopes.data.items.length === 0 ? 'scans.start.noScope' : 'scans.start.lead')}
      submit={t('scans.start')}
      action={action}
      onClose={onClose}
      fields={[
        {
          name: 'kind',
          kind: 'choice',
          label: t('kind'),
          isRequired: true,
          options: KINDS.map((value) => ({ value, label: named('scanKind', value) })),
        },
        {
          name: 'scopeId',
          kind: 'choice',
          label: t('scans.scope'),
          isRequired: true,
          when: hasScope,
          options: scopes.data.items.map(({ id, name }) => ({ value: id, label: name })),
        },
        { name: 'targets', kind: 'lines', label: t('scans.targets'), hint: t('scans.targets.hint'), when: hasScope },
        { name: 'label', label: t('hosts.label'), hint: t('scans.label.hint'), when: (values) => !hasScope(values) },
      ]}
    />
  );
}
