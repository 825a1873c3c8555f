import { EmptyState } from '@patternfly/react-core';
import GlobeIcon from '@patternfly/react-icons/dist/esm/icons/globe-icon';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getJurisdictionMatrixOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { JurisdictionStandView } from '../../api/generated/types.gen.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { type Column, DataTable } from '../../patterns/data-table.js';
import { type Filter, FilterBar, useFilters } from '../../patterns/filter-bar.js';
import { Go } from '../../patterns/go.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Stance, useStanceDialog } from './stance.js';

const PURPOSES = ['key-establishment', 'encryption', 'signature', 'unknown'];

/** JurisdictionsPage compares the positions of the authorities on each algorithm in use, on any day. The API returns a single page, filtered here. */
export function JurisdictionsPage() {
  const { t, named } = useI18n();
  const { all, one } = useUrlState();
  const day = one('asOf');
  const query = useQuery({
    ...getJurisdictionMatrixOptions({ query: day === undefined ? {} : { asOf: `${day.slice(0, 10)}T00:00:00Z` } }),
    placeholderData: keepPreviousData,
  });
  const { look, dialog } = useStanceDialog();
  const filters: Filter[] = [
    { kind: 'day', param: 'asOf', name: t('attestations.asOf') },
    {
      kind: 'choice',
      param: 'purpose',
      name: t('conflicts.purpose'),
      options: PURPOSES.map((value) => ({ value, name: named('purpose', value) })),
    },
    {
      kind: 'choice',
      param: 'conflict',
      name: t('jurisdictions.agreement'),
      isSingle: true,
      options: [{ value: 'true', name: t('jurisdictions.disagree') }],
    },
  ];
  const { isFiltered, clear } = useFilters(filters);
  const isShown = ({ purpose, conflict }: JurisdictionStandView) =>
    (all('purpose').length === 0 || all('purpose').includes(purpose)) && (one('conflict') === undefined || conflict);
  const shown = { ...query, data: query.data && { items: query.data.items.filter(isShown) } };
  const opinions = (query.data?.jurisdictions ?? []).map((name, index): Column<JurisdictionStandView> => ({
    name,
    cell: ({ opinions: said }) => <Stance opinion={said[index]} look={look} />,
  }));
  return (
    <PageFrame title={t('nav.jurisdictions')} lead={t('jurisdictions.lead')}>
      <FilterBar filters={filters} />
      <div className="sw-scroll">
        <DataTable<JurisdictionStandView>
          name={t('nav.jurisdictions')}
          query={shown}
          rowKey={({ purpose, algorithm }) => `${purpose} ${algorithm}`}
          isFiltered={isFiltered}
          clear={clear}
          empty={<EmptyState headingLevel="h2" titleText={t('jurisdictions.none')} icon={GlobeIcon} />}
          columns={[
            {
              name: t('conflicts.algorithm'),
              cell: ({ algorithm, family, purpose }) => (
                <>
                  <Go to={`/assets?family=${encodeURIComponent(family)}`} className="sw-row-link">
                    {algorithm}
                  </Go>
                  {purpose !== 'unknown' && <div className="sw-muted">{named('purpose', purpose)}</div>}
                </>
              ),
            },
            { name: t('nav.assets'), cell: ({ assets }) => assets },
            ...opinions,
          ]}
        />
      </div>
      {dialog}
    </PageFrame>
  );
}
