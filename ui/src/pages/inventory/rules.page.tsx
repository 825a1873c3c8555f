import { Button, EmptyState } from '@patternfly/react-core';
import BalanceScaleIcon from '@patternfly/react-icons/dist/esm/icons/balance-scale-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listRiskRulesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { RuleView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { type Filter, FilterBar, useFilters } from '../../patterns/filter-bar.js';
import { Go } from '../../patterns/go.js';
import { LevelLabel, LEVELS } from '../../patterns/labels.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { AXES } from './rule-axes.js';
import { RuleChange } from './rule-change.js';

/** RulesPage lists the risk rules with their sources. The API returns a single page, filtered here. */
export function RulesPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const { all, one } = useUrlState();
  const [isCreating, setCreating] = useState(false);
  const query = useQuery(listRiskRulesOptions());
  const choice = (param: string, name: string, prefix: string, values: readonly string[]): Filter => ({
    kind: 'choice',
    param,
    name,
    options: values.map((value) => ({ value, name: named(prefix, value) })),
  });
  const filters: Filter[] = [
    { kind: 'text', param: 'q', name: t('rules.search') },
    choice('axis', t('finding.axis'), 'axis', AXES),
    choice('level', t('level'), 'level', LEVELS),
  ];
  const { isFiltered, clear } = useFilters(filters);
  const wanted = (one('q') ?? '').toLowerCase();
  const matches = ({ id, reason, axis, level }: RuleView) =>
    `${id} ${reason}`.toLowerCase().includes(wanted) &&
    (all('axis').length === 0 || all('axis').includes(axis)) &&
    (all('level').length === 0 || all('level').includes(level));
  const shown = { ...query, data: query.data && { items: query.data.items.filter(matches) } };
  return (
    <PageFrame
      title={t('nav.rules')}
      lead={query.data === undefined ? undefined : t('rules.lead', { edition: query.data.edition })}
      actions={may('inventory:write') && <Button onClick={() => setCreating(true)}>{t('rules.create')}</Button>}
    >
      <FilterBar filters={filters} />
      <DataTable<RuleView>
        name={t('nav.rules')}
        query={shown}
        rowKey={({ id }) => id}
        isFiltered={isFiltered}
        clear={clear}
        empty={<EmptyState headingLevel="h2" titleText={t('list.nothingFound')} icon={BalanceScaleIcon} />}
        columns={[
          {
            name: t('rules.rule'),
            cell: ({ id }) => (
              <Go to={`/rules/${id}`} className="sw-row-link sw-nowrap">
                {id}
              </Go>
            ),
          },
          { name: t('level'), cell: ({ level }) => <LevelLabel level={level} /> },
          { name: t('finding.axis'), cell: ({ axis }) => named('axis', axis) },
          { name: t('rules.reason'), width: 40, cell: ({ reason }) => reason },
          {
            name: t('finding.standards'),
            width: 20,
            cell: ({ standards }) => <span className="sw-muted">{standards.slice(0, 2).join(', ')}</span>,
          },
          { name: t('finding.target'), cell: ({ target }) => target ?? '–' },
        ]}
      />
      {isCreating && query.data !== undefined && (
        <RuleChange kind="put" version={query.data.version} onClose={() => setCreating(false)} />
      )}
    </PageFrame>
  );
}
