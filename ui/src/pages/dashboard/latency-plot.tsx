import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { EChartsOption } from 'echarts';
import { useMemo } from 'react';
import { listSigningRequestsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { SigningRequestView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { ChartCard } from '../../patterns/chart/chart-card.js';
import { chrome } from '../../patterns/chart/colors.js';
import { Go } from '../../patterns/go.js';
import { quantile } from './counts.js';

const PAGE_SIZE = 200;
const SHARES = [0.5, 0.95, 0.99] as const;
const SHADES = ['blue--40', 'blue--50', 'blue--70'];

interface KeyLatency {
  readonly id: string;
  readonly name: string;
  readonly count: number;
  /** Milliseconds for each of SHARES. */
  readonly shares: readonly number[];
}

/** byKey returns the latencies from request to signature for each key. Requests that waited for approval are excluded. */
function byKey(requests: readonly SigningRequestView[]): KeyLatency[] {
  const spent = new Map<string, { readonly name: string; readonly times: number[] }>();
  for (const { key, createdAt, finishedAt, approvalId } of requests) {
    if (finishedAt === undefined || approvalId !== undefined) continue;
    const known = spent.get(key.id) ?? { name: key.name, times: [] };
    known.times.push(Date.parse(finishedAt) - Date.parse(createdAt));
    spent.set(key.id, known);
  }
  return [...spent].map(([id, { name, times }]) => ({
    id,
    name,
    count: times.length,
    shares: SHARES.map((share) => quantile(times, share)),
  }));
}

/** LatencyPlot shows the p50, p95 and p99 latency of recent signatures. */
export function LatencyPlot() {
  const { t, language } = useI18n();
  const navigate = useNavigate();
  const query = useQuery(listSigningRequestsOptions({ query: { status: 'SIGNED', limit: PAGE_SIZE } }));
  const keys = useMemo(() => byKey(query.data?.items ?? []), [query.data]);
  const option = useMemo(
    () =>
      (css: (name: string) => string): EChartsOption => {
        const { tooltip, axis, grid, legend } = chrome(css);
        return {
          tooltip: { ...tooltip, trigger: 'axis', axisPointer: { type: 'shadow' } },
          legend,
          grid,
          xAxis: { type: 'category', ...axis, data: keys.map(({ name }) => name) },
          yAxis: { type: 'value', ...axis, axisLabel: { ...axis.axisLabel, formatter: '{value} ms' } },
          series: SHARES.map((share, index) => ({
            type: 'bar',
            name: t('plot.latency.share', { percent: share * 100 }),
            color: css(`pf-t--color--${SHADES[index]}`),
            data: keys.map(({ shares }) => shares[index] ?? 0),
          })),
        };
      },
    [keys, t],
  );
  const milliseconds = (value: number) => `${value.toLocaleString(language)} ms`;
  return (
    <ChartCard
      title={t('plot.latency')}
      summary={keys.map(({ name, shares }) => `${name}: ${shares.map(milliseconds).join(', ')}`).join('; ')}
      columns={[t('key'), t('count'), ...SHARES.map((share) => t('plot.latency.share', { percent: share * 100 }))]}
      rows={keys.map(({ id, name, count, shares }) => [
        <Go key="k" to={`/keys/${id}`}>
          {name}
        </Go>,
        count.toLocaleString(language),
        ...shares.map(milliseconds),
      ])}
      query={query}
      option={option}
      onSelect={({ name }) => {
        const key = keys.find((one) => one.name === name);
        if (key !== undefined) void navigate({ to: `/keys/${key.id}` });
      }}
    />
  );
}
