import { Content, EmptyState, Label, Stack, StackItem } from '@patternfly/react-core';
import CalendarAltIcon from '@patternfly/react-icons/dist/esm/icons/calendar-alt-icon';
import { useQuery } from '@tanstack/react-query';
import { listDeadlinesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { DeadlineCountView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Go } from '../../patterns/go.js';
import { Day } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { DeadlinePlot } from '../dashboard/inventory-plots.js';
import { readable } from './readable.js';
import { SourceLink } from './source-link.js';

const keyOf = ({ date, authority, state, provision, appliesTo }: DeadlineCountView) =>
  [date, authority, state, provision, appliesTo].join(' ');

/** DeadlineAssets links the number of assets of a deadline to the list of assets with a finding of one of its rules. */
function DeadlineAssets({ assets, rules }: DeadlineCountView) {
  const { t } = useI18n();
  if (assets === null || assets === 0) return <>{assets ?? t('deadlines.notCounted')}</>;
  const query = `finding in (${rules.join(', ')})`;
  return (
    <Go
      to={`/assets?state=active&q=${encodeURIComponent(query)}`}
      aria-label={t('deadlines.assetsOf', { count: assets })}
    >
      {assets}
    </Go>
  );
}

/** DeadlinesPage lists the deadlines of all rules, each with the number of affected assets. */
export function DeadlinesPage() {
  const { t } = useI18n();
  const query = useQuery(listDeadlinesOptions());
  return (
    <PageFrame title={t('nav.deadlines')} lead={t('deadlines.lead')}>
      <Stack hasGutter>
        <StackItem>
          <DeadlinePlot />
        </StackItem>
        <StackItem>
          <Content component="p">{t('deadlines.note')}</Content>
        </StackItem>
        <StackItem>
          <DataTable<DeadlineCountView>
            name={t('nav.deadlines')}
            query={query}
            rowKey={keyOf}
            empty={<EmptyState headingLevel="h2" titleText={t('chart.nothing')} icon={CalendarAltIcon} />}
            columns={[
              { name: t('plot.deadlines.date'), cell: ({ date }) => <Day at={date} /> },
              { name: t('deadlines.state'), cell: ({ state }) => readable(state) },
              { name: t('deadlines.authority'), cell: (deadline) => <SourceLink {...deadline} /> },
              {
                name: t('deadlines.force'),
                cell: ({ binding, draft }) => (
                  <Label isCompact color={draft ? 'grey' : binding ? 'orange' : 'blue'}>
                    {t(draft ? 'deadlines.draft' : binding ? 'deadlines.binding' : 'deadlines.advice')}
                  </Label>
                ),
              },
              { name: t('deadlines.assets'), cell: (deadline) => <DeadlineAssets {...deadline} /> },
              {
                name: t('deadlines.rules'),
                width: 25,
                cell: ({ rules }) =>
                  rules.slice(0, 3).map((rule) => (
                    <span key={rule}>
                      <Go to={`/assets?rule=${encodeURIComponent(rule)}`}>{rule}</Go>{' '}
                    </span>
                  )),
              },
            ]}
          />
        </StackItem>
      </Stack>
    </PageFrame>
  );
}
