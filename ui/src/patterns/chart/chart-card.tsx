import {
  Card,
  CardBody,
  CardHeader,
  CardTitle,
  EmptyState,
  Skeleton,
  ToggleGroup,
  ToggleGroupItem,
} from '@patternfly/react-core';
import ChartBarIcon from '@patternfly/react-icons/dist/esm/icons/chart-bar-icon';
import TableIcon from '@patternfly/react-icons/dist/esm/icons/table-icon';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useI18n } from '../../i18n/i18n.js';
import { Failed } from '../problem.js';
import type { EChartProps } from './echart.js';

const EChart = lazy(() => import('./echart.js').then((module) => ({ default: module.EChart })));

interface ChartCardProps extends Omit<EChartProps, 'label'> {
  readonly title: string;
  /** Description of the chart for screen readers. */
  readonly summary: string;
  readonly columns: readonly string[];
  /** The figures as table rows. The first cell may link to the underlying list. */
  readonly rows: readonly (readonly ReactNode[])[];
  readonly query: {
    readonly isPending: boolean;
    readonly isError: boolean;
    readonly error: unknown;
    refetch(): unknown;
  };
}

/** ChartCard shows a chart or the same figures as a table. Screen readers always get the table. */
export function ChartCard({ title, summary, columns, rows, query, ...chart }: ChartCardProps) {
  const { t } = useI18n();
  const [asTable, setAsTable] = useState(false);
  const isEmpty = rows.length === 0;
  return (
    <Card isCompact isFullHeight>
      <CardHeader
        actions={{
          hasNoOffset: true,
          actions: isEmpty ? null : (
            <ToggleGroup aria-label={t('chart.shownAs', { title })} isCompact>
              <ToggleGroupItem
                icon={<ChartBarIcon />}
                aria-label={t('chart.plot')}
                isSelected={!asTable}
                onChange={() => setAsTable(false)}
              />
              <ToggleGroupItem
                icon={<TableIcon />}
                aria-label={t('chart.table')}
                isSelected={asTable}
                onChange={() => setAsTable(true)}
              />
            </ToggleGroup>
          ),
        }}
      >
        <CardTitle component="h2">{title}</CardTitle>
      </CardHeader>
      <CardBody>
        {query.isError ? (
          <Failed query={query} />
        ) : query.isPending ? (
          <Skeleton height="17rem" screenreaderText={t('busy')} />
        ) : isEmpty ? (
          <EmptyState headingLevel="h3" titleText={t('chart.nothing')} variant="xs" />
        ) : asTable ? (
          <FigureTable title={title} columns={columns} rows={rows} />
        ) : (
          <Suspense fallback={<Skeleton height="17rem" screenreaderText={t('busy')} />}>
            <EChart label={`${title}. ${summary}`} {...chart} />
          </Suspense>
        )}
      </CardBody>
    </Card>
  );
}

function FigureTable({ title, columns, rows }: Pick<ChartCardProps, 'title' | 'columns' | 'rows'>) {
  return (
    <div className="sw-chart-table">
      <Table role="table" aria-label={title} variant="compact" borders={false}>
        <Thead>
          <Tr>
            {columns.map((column) => (
              <Th key={column}>{column}</Th>
            ))}
          </Tr>
        </Thead>
        <Tbody>
          {rows.map((row, index) => (
            <Tr key={index}>
              {row.map((cell, column) => (
                <Td key={columns[column]} dataLabel={columns[column] ?? ''} className={column > 0 ? 'sw-number' : ''}>
                  {cell}
                </Td>
              ))}
            </Tr>
          ))}
        </Tbody>
      </Table>
    </div>
  );
}
