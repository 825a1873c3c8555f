import { Button, EmptyState, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core';
import PenFancyIcon from '@patternfly/react-icons/dist/esm/icons/pen-fancy-icon';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { listSigningRequestsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { type Filter, FilterBar, useFilters } from '../../patterns/filter-bar.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { useRequestColumns } from './request-columns.js';
import { isFinal } from './signing-request.js';
import { useSigningKeys } from './use-signing-keys.js';

const STATUSES = ['QUEUED', 'PROCESSING', 'PENDING_APPROVAL', 'SIGNED', 'FAILED'] as const;

export function RequestsPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const { one } = useUrlState();
  const { data: keys = [] } = useSigningKeys();
  const filters: Filter[] = [
    { kind: 'text', param: 'reference', name: t('request.reference') },
    {
      kind: 'choice',
      param: 'status',
      name: t('status'),
      isSingle: true,
      options: STATUSES.map((value) => ({ value, name: named('status', value) })),
    },
    {
      kind: 'choice',
      param: 'key',
      name: t('key'),
      isSingle: true,
      options: keys.map(({ name }) => ({ value: name, name })),
    },
  ];
  const { isFiltered, clear } = useFilters(filters);
  const query = useQuery({
    ...listSigningRequestsOptions({
      query: Object.fromEntries([...filters.map(({ param }) => param), 'cursor'].map((param) => [param, one(param)])),
    }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.items.every(isFinal) === false ? 2000 : 15_000),
  });
  const columns = useRequestColumns();
  return (
    <PageFrame title={t('nav.requests')} lead={t('requests.lead')} actions={may('sign:digest') && <ToSign />}>
      <FilterBar filters={filters} />
      <DataTable
        name={t('nav.requests')}
        columns={columns}
        query={query}
        rowKey={({ requestId }) => requestId}
        isFiltered={isFiltered}
        clear={clear}
        empty={<NoRequests />}
      />
    </PageFrame>
  );
}

function ToSign() {
  const { t } = useI18n();
  const navigate = useNavigate();
  return <Button onClick={() => void navigate({ to: '/sign' })}>{t('nav.sign')}</Button>;
}

function NoRequests() {
  const { t } = useI18n();
  const { may } = useSession();
  return (
    <EmptyState headingLevel="h2" titleText={t('requests.none')} icon={PenFancyIcon}>
      <EmptyStateBody>{t('requests.none.body')}</EmptyStateBody>
      {may('sign:digest') && (
        <EmptyStateFooter>
          <ToSign />
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}
