import { Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { EChartsOption } from 'echarts';
import { useMemo } from 'react';
import { getBlastRadiusOptions, listNeighboursOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { AssetDetailView, RelationshipView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { ChartCard } from '../../patterns/chart/chart-card.js';
import { chrome, levelColor } from '../../patterns/chart/colors.js';
import { DataTable } from '../../patterns/data-table.js';
import { Go } from '../../patterns/go.js';
import { LevelLabel } from '../../patterns/labels.js';

const PAGE_SIZE = 200;

/** Relations shows the assets that depend on an asset, by distance, and its direct relationships. */
export function Relations({ asset }: { asset: AssetDetailView }) {
  const { t, named } = useI18n();
  const path = { id: asset.id };
  const uses = useQuery(listNeighboursOptions({ path, query: { limit: PAGE_SIZE } }));
  const usedBy = useQuery(listNeighboursOptions({ path, query: { limit: PAGE_SIZE, direction: 'in' } }));
  const items = [...(uses.data?.items ?? []), ...(usedBy.data?.items ?? [])];
  const neighbours = { ...(uses.isError ? uses : usedBy), data: uses.data && usedBy.data && { items } };
  return (
    <Stack hasGutter>
      <StackItem>
        <BlastRadius asset={asset} />
      </StackItem>
      <StackItem>
        <Card isCompact>
          <CardTitle component="h3">{t('relations.direct')}</CardTitle>
          <CardBody>
            <DataTable<RelationshipView>
              name={t('relations.direct')}
              query={neighbours}
              rowKey={({ fromId, toId, kind }) => `${fromId} ${toId} ${kind}`}
              empty={<p className="sw-muted">{t('relations.none')}</p>}
              columns={[
                {
                  name: t('relations.from'),
                  cell: ({ fromId, fromName }) => <Go to={`/assets/${fromId}`}>{fromName}</Go>,
                },
                { name: t('relations.kind'), cell: ({ kind }) => named('relation', kind) },
                { name: t('relations.to'), cell: ({ toId, toName }) => <Go to={`/assets/${toId}`}>{toName}</Go> },
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
    </Stack>
  );
}

function BlastRadius({ asset }: { asset: AssetDetailView }) {
  const { t, named } = useI18n();
  const navigate = useNavigate();
  const query = useQuery(getBlastRadiusOptions({ path: { id: asset.id }, query: { depth: 4, limit: PAGE_SIZE } }));
  const reached = useMemo(() => query.data?.items ?? [], [query.data]);
  const option = useMemo(
    () =>
      (css: (name: string) => string): EChartsOption => ({
        tooltip: chrome(css).tooltip,
        series: [
          {
            type: 'graph',
            layout: 'force',
            roam: true,
            draggable: true,
            force: { repulsion: 400, edgeLength: 110, gravity: 0.08 },
            edgeSymbol: ['none', 'arrow'],
            edgeSymbolSize: 6,
            label: { show: reached.length < 40, position: 'right', color: css('pf-t--global--text--color--regular') },
            lineStyle: { color: css('pf-t--global--text--color--subtle'), opacity: 0.6 },
            data: [
              {
                id: asset.id,
                name: asset.name,
                symbolSize: 26,
                itemStyle: { color: css('pf-t--global--color--brand--default') },
              },
              ...reached.map(({ id, name, level }) => ({
                id,
                name,
                symbolSize: 14,
                itemStyle: { color: levelColor(css, level ?? 'UNJUDGED') },
              })),
            ],
            links: reached.map(({ id, viaId }) => ({ source: id, target: viaId })),
          },
        ],
      }),
    [asset, reached],
  );
  return (
    <ChartCard
      title={t('relations.radius')}
      summary={t(query.data?.truncated ? 'relations.radius.more' : 'relations.radius.all', { count: reached.length })}
      columns={[t('name'), t('relations.steps'), t('relations.kind'), t('level')]}
      rows={reached.map(({ id, name, depth, viaKind, level }) => [
        <Go key="n" to={`/assets/${id}`}>
          {name}
        </Go>,
        depth,
        named('relation', viaKind),
        <LevelLabel key="l" level={level} />,
      ])}
      query={query}
      option={option}
      onSelect={({ data }) => {
        const { id } = data as { id?: string };
        if (id !== undefined) void navigate({ to: `/assets/${id}` });
      }}
    />
  );
}
