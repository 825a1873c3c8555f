import { Button, EmptyState, EmptyStateBody, EmptyStateFooter, Flex, FlexItem, Skeleton } from '@patternfly/react-core';
import ArrowLeftIcon from '@patternfly/react-icons/dist/esm/icons/arrow-left-icon';
import ArrowRightIcon from '@patternfly/react-icons/dist/esm/icons/arrow-right-icon';
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon';
import { SortByDirection, Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useDeferredValue } from 'react';
import { listOf, type UrlState, useUrlState } from '../app/url-state.js';
import { useI18n } from '../i18n/i18n.js';
import { Failed } from './problem.js';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  /** Value of `sort=` for this column, if the list can be sorted by it. */
  readonly sort?: string;
  readonly width?: 10 | 15 | 20 | 25 | 30 | 35 | 40 | 45 | 50;
  readonly isAction?: boolean;
}

export interface ListPage<Row> {
  readonly items: readonly Row[];
  readonly nextCursor?: string | null;
  readonly total?: { readonly count: number; readonly type: 'EXACT' | 'AT_LEAST' };
}

const FIRST = 12;

/** ListQuery is the part of a query for one page of a list that a table uses. */
export interface ListQuery<Row> {
  readonly data: ListPage<Row> | undefined;
  readonly isError: boolean;
  readonly isFetching: boolean;
  /** The previous page is shown while the requested page is loading. */
  readonly isPlaceholderData: boolean;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

interface TableProps<Row> {
  readonly name: string;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
  /** Empty state when there are no entries at all. */
  readonly empty: ReactNode;
  /** Whether filters are set, which decides between "no results" and the empty state. */
  readonly isFiltered?: boolean;
  readonly clear?: () => void;
}

type DataTableProps<Row> = TableProps<Row> &
  (
    | { readonly query: ListQuery<Row>; readonly rows?: undefined }
    /** All entries, if they are already loaded. */
    | { readonly rows: readonly Row[]; readonly query?: undefined }
  );

/**
 * DataTable shows one page of a keyset list, or all `rows` of a short list. The cursor is in the URL and the previous cursors are in the history
 * entry, so both survive a reload.
 */
export function DataTable<Row>({
  name,
  columns,
  query: asked,
  rows,
  rowKey,
  empty,
  isFiltered = false,
  clear,
}: DataTableProps<Row>) {
  const query = asked === undefined ? loadedQuery(rows) : asked;
  const { data } = query;
  if (query.isError && data === undefined) return <Failed query={query} />;
  if (data !== undefined && data.items.length === 0) {
    return isFiltered ? <NothingFound {...(clear === undefined ? {} : { clear })} /> : empty;
  }
  return (
    <div className={query.isPlaceholderData ? 'sw-stale' : undefined}>
      {query.isError && <Failed query={query} />}
      <Table role="table" aria-label={name} variant="compact" aria-busy={query.isFetching} gridBreakPoint="grid-md">
        <Thead>
          <Tr>
            {columns.map((column) => (
              <HeadCell key={column.name} column={column} />
            ))}
          </Tr>
        </Thead>
        <Tbody>
          {data === undefined ? (
            <LoadingRows columns={columns} />
          ) : (
            <Rows items={data.items} columns={columns} rowKey={rowKey} />
          )}
        </Tbody>
      </Table>
      {data !== undefined && <Paging page={data} />}
    </div>
  );
}

/** loadedQuery wraps rows that are already loaded as a query result. */
function loadedQuery<Row>(items: readonly Row[]): ListQuery<Row> {
  const settled = { isError: false, isFetching: false, isPlaceholderData: false, error: undefined };
  return { data: { items }, ...settled, refetch: () => undefined };
}

interface RowsProps<Row> {
  readonly items: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string;
}

/** Rows draws the first rows immediately and the rest of the page afterwards. */
function Rows<Row>({ items, columns, rowKey }: RowsProps<Row>) {
  const drawn = useDeferredValue(items, items.slice(0, FIRST));
  return drawn.map((row) => (
    <Tr key={rowKey(row)}>
      {columns.map((column) => (
        // On phones, labeled actions would take half of the width.
        <Td key={column.name} {...(column.isAction ? { isActionCell: true } : { dataLabel: column.name })}>
          {column.cell(row)}
        </Td>
      ))}
    </Tr>
  ));
}

function HeadCell<Row>({ column }: { column: Column<Row> }) {
  const { one, change } = useUrlState();
  const { sort, width } = column;
  const sized = width === undefined ? {} : { width };
  if (column.isAction) return <Th screenReaderText={column.name} />;
  // Truncated headings are unreadable.
  if (sort === undefined) {
    return (
      <Th {...sized} modifier="nowrap">
        {column.name}
      </Th>
    );
  }
  const isSorted = one('sort') === sort;
  const direction = sort.startsWith('-') ? SortByDirection.desc : SortByDirection.asc;
  return (
    <Th
      {...sized}
      modifier="nowrap"
      sort={{
        columnIndex: 0,
        sortBy: isSorted ? { index: 0, direction } : { defaultDirection: direction },
        onSort: () => change({ sort: isSorted ? undefined : sort }),
      }}
    >
      {column.name}
    </Th>
  );
}

function LoadingRows<Row>({ columns }: { columns: readonly Column<Row>[] }) {
  return Array.from({ length: 6 }, (_, row) => (
    <Tr key={row}>
      {columns.map(({ name }) => (
        <Td key={name}>
          <Skeleton width={`${50 + ((row * 17) % 40)}%`} />
        </Td>
      ))}
    </Tr>
  ));
}

function NothingFound({ clear }: { clear?: () => void }) {
  const { t } = useI18n();
  return (
    <EmptyState headingLevel="h2" titleText={t('list.nothingFound')} icon={SearchIcon} variant="sm">
      <EmptyStateBody>{t('list.nothingFound.body')}</EmptyStateBody>
      {clear !== undefined && (
        <EmptyStateFooter>
          <Button variant="link" onClick={clear}>
            {t('list.clear')}
          </Button>
        </EmptyStateFooter>
      )}
    </EmptyState>
  );
}

function Paging({ page }: { page: ListPage<unknown> }) {
  const { t } = useI18n();
  const { state } = useUrlState();
  const navigate = useNavigate();
  const location = useLocation();
  const trail = (location.state as { trail?: readonly string[] }).trail ?? [];
  const cursor = listOf(state['cursor'])[0];
  const go = (to: string | undefined, by: readonly string[]) =>
    void navigate({
      to: '.',
      search: (before: UrlState) => ({ ...before, cursor: to }),
      state: { trail: by },
    } as never);
  const isOnly = cursor === undefined && (page.nextCursor ?? null) === null;
  return (
    <Flex className="sw-paging" justifyContent={{ default: 'justifyContentSpaceBetween' }}>
      <FlexItem className="sw-muted sw-number" role="status">
        {page.total === undefined
          ? t(isOnly ? 'list.total' : 'list.onPage', { count: page.items.length })
          : t(page.total.type === 'EXACT' ? 'list.total' : 'list.totalAtLeast', { count: page.total.count })}
      </FlexItem>
      {!isOnly && (
        <FlexItem>
          {cursor !== undefined && (
            <Button
              variant="link"
              icon={<ArrowLeftIcon />}
              onClick={() => go(trail.at(-1) === '' ? undefined : trail.at(-1), trail.slice(0, -1))}
            >
              {t('list.previous')}
            </Button>
          )}
          {(page.nextCursor ?? null) !== null && (
            <Button
              variant="link"
              icon={<ArrowRightIcon />}
              iconPosition="end"
              onClick={() => go(page.nextCursor ?? undefined, [...trail, cursor ?? ''])}
            >
              {t('list.next')}
            </Button>
          )}
        </FlexItem>
      )}
    </Flex>
  );
}
