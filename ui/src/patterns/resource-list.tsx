import { EmptyState, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ComponentType, ReactNode } from 'react';
import { pick, useUrlState } from '../app/url-state.js';
import { type Column, DataTable, type ListPage } from './data-table.js';
import { type Filter, FilterBar, useFilters } from './filter-bar.js';

interface ResourceListProps<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly filters?: readonly Filter[];
  /** Additional URL parameters of the list that do not filter, such as `sort`. */
  readonly params?: readonly string[];
  /** The generated query for the parameters in the URL. */
  readonly list: (query: Record<string, string | readonly string[]>) => object;
  readonly rowKey: (row: Row) => string;
  /** Undefined in a card, which uses a small empty state. */
  readonly icon?: ComponentType;
  readonly emptyTitle: string;
  readonly emptyBody?: string;
  /** Action in the empty state, such as a button that creates the first entry. */
  readonly emptyAction?: ReactNode;
  /** Refresh interval in milliseconds, or false. */
  readonly refresh?: (rows: readonly Row[]) => number | false;
  readonly tools?: ReactNode;
}

/** ResourceList shows a list of resources with filters from the URL, keyset pagination and an empty state. */
export function ResourceList<Row>(props: ResourceListProps<Row>) {
  const {
    name,
    columns,
    filters = [],
    params = [],
    list,
    rowKey,
    icon,
    emptyTitle,
    emptyBody,
    emptyAction,
    tools,
  } = props;
  const { state } = useUrlState();
  const { isFiltered, clear } = useFilters(filters);
  const wanted = ['cursor', ...params, ...filters.map(({ param }) => param)];
  const query = useQuery({
    ...(list(pick(state, wanted)) as {
      queryKey: readonly unknown[];
      queryFn: () => Promise<ListPage<Row>>;
    }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => (data === undefined ? false : (props.refresh?.(data.items) ?? false)),
  });
  const isFirstPage = state['cursor'] === undefined;
  const showsFilters = filters.length > 0 && (isFiltered || !isFirstPage || query.data?.items.length !== 0);
  return (
    <>
      {(showsFilters || tools !== undefined) && <FilterBar filters={showsFilters ? filters : []}>{tools}</FilterBar>}
      <DataTable
        name={name}
        columns={columns}
        query={query}
        rowKey={rowKey}
        isFiltered={isFiltered || !isFirstPage}
        clear={clear}
        empty={
          <EmptyState headingLevel="h2" titleText={emptyTitle} {...(icon === undefined ? { variant: 'xs' } : { icon })}>
            {emptyBody !== undefined && <EmptyStateBody>{emptyBody}</EmptyStateBody>}
            {emptyAction !== undefined && emptyAction !== false && <EmptyStateFooter>{emptyAction}</EmptyStateFooter>}
          </EmptyState>
        }
      />
    </>
  );
}
