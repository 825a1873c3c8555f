import { EmptyState, Label, Stack, StackItem } from '@patternfly/react-core';
import CalendarAltIcon from '@patternfly/react-icons/dist/esm/icons/calendar-alt-icon';
import { useQuery } from '@tanstack/react-query';
import { countByDeadlineOptions, listRiskRulesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Go } from '../../patterns/go.js';
import { Day } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { DeadlinePlot } from '../dashboard/inventory-plots.js';
import { readable } from './readable.js';

interface Deadline {
  readonly date: string;
  readonly state: string;
  readonly authority: string;
  readonly jurisdiction: string;
  readonly binding: boolean;
  readonly draft: boolean;
  readonly rules: readonly string[];
  readonly due: number;
}

/** Deadlines of all rules, with the rules and the number of affected assets. */
function useDeadlines() {
  const rules = useQuery(listRiskRulesOptions());
  const counts = useQuery(countByDeadlineOptions());
  const merged = new Map<string, Deadline>();
  for (const rule of rules.data?.items ?? []) {
    for (const deadline of rule.deadlines) {
      const key = [deadline.date, deadline.authority, deadline.state, deadline.jurisdiction].join(' ');
      const known = merged.get(key);
      merged.set(key, {
        ...deadline,
        rules: [...(known?.rules ?? []), rule.id],
        due: counts.data?.items.find(({ value }) => value === deadline.date)?.count ?? 0,
      });
    }
  }
  const items = [...merged.values()].sort((a, b) => a.date.localeCompare(b.date));
  return { ...rules, data: rules.data && { items } };
}

export function DeadlinesPage() {
  const { t } = useI18n();
  const query = useDeadlines();
  return (
    <PageFrame title={t('nav.deadlines')} lead={t('deadlines.lead')}>
      <Stack hasGutter>
        <StackItem>
          <DeadlinePlot />
        </StackItem>
        <StackItem>
          <DataTable<Deadline>
            name={t('nav.deadlines')}
            query={query}
            rowKey={({ date, authority, state, jurisdiction }) => `${date} ${authority} ${state} ${jurisdiction}`}
            empty={<EmptyState headingLevel="h2" titleText={t('chart.nothing')} icon={CalendarAltIcon} />}
            columns={[
              { name: t('plot.deadlines.date'), cell: ({ date }) => <Day at={date} /> },
              { name: t('deadlines.state'), cell: ({ state }) => readable(state) },
              {
                name: t('deadlines.authority'),
                cell: ({ authority, jurisdiction }) => `${authority} (${jurisdiction})`,
              },
              {
                name: t('deadlines.force'),
                cell: ({ binding, draft }) => (
                  <Label isCompact color={draft ? 'grey' : binding ? 'orange' : 'blue'}>
                    {t(draft ? 'deadlines.draft' : binding ? 'deadlines.binding' : 'deadlines.advice')}
                  </Label>
                ),
              },
              {
                name: t('deadlines.assets'),
                cell: ({ due, date }) =>
                  due === 0 ? due : <Go to={`/assets?q=${encodeURIComponent(`deadline=${date}`)}`}>{due}</Go>,
              },
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
