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
  /** Further parameters that the list takes from the address and that leave nothing out, such as `sort`. */
  readonly params?: readonly string[];
  /** The generated query of the list, for what stands in the address. */
  readonly list: (query: Record<string, string | readonly string[]>) => object;
  readonly rowKey: (row: Row) => string;
  /** Absent in a card, whose empty state is shown small. */
  readonly icon?: ComponentType;
  readonly emptyTitle: string;
  readonly emptyBody?: string;
  /** Action in the empty state, such as a button that creates the first entry. */
  readonly emptyAction?: ReactNode;
  /** Milliseconds until the list is read again; false for no refresh. */
  readonly refresh?: (rows: readonly Row[]) => number | false;
  readonly tools?: ReactNode;
}

/** A list of one resource: filters from the address, a keyset page, and an empty state. */
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
