import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { EChartsOption } from 'echarts';
import { useMemo } from 'react';
import {
  countByDeadlineOptions,
  countByExpiryOptions,
  countByFamilyOptions,
  countBySizeOptions,
  getSummaryOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import type { CountView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { ChartCard } from '../../patterns/chart/chart-card.js';
import { chrome, daysAxis, levelColor } from '../../patterns/chart/colors.js';
import { Go } from '../../patterns/go.js';
import { type Level, LEVELS, LevelLabel } from '../../patterns/labels.js';
import { burnDown, byMonth, heatCells, worstFirst } from './counts.js';

type Css = (name: string) => string;
const PERCENT = 100;

export function LevelPlot() {
  const { t, named, language } = useI18n();
  const navigate = useNavigate();
  const query = useQuery(getSummaryOptions());
  const levels = query.data?.levels;
  const shown = useMemo(() => LEVELS.filter((level) => (levels?.[level] ?? 0) > 0), [levels]);
  const option = useMemo(
    () =>
      (css: Css): EChartsOption => ({
        tooltip: { ...chrome(css).tooltip, trigger: 'item' },
        legend: chrome(css).legend,
        series: [
          {
            type: 'pie',
            radius: ['50%', '75%'],
            center: ['50%', '45%'],
            label: { show: false },
            itemStyle: { borderWidth: 2, borderColor: css('pf-t--global--background--color--primary--default') },
            data: shown.map((level) => ({
              id: level,
              name: named('level', level),
              value: levels?.[level] ?? 0,
              itemStyle: { color: levelColor(css, level) },
            })),
          },
        ],
      }),
    [levels, shown, named],
  );
  const total = shown.reduce((sum, level) => sum + (levels?.[level] ?? 0), 0);
  return (
    <ChartCard
      title={t('plot.levels')}
      summary={shown.map((level) => `${named('level', level)}: ${levels?.[level] ?? 0}`).join(', ')}
      columns={[t('level'), t('count'), t('share')]}
      rows={shown.map((level) => [
        <Go key="l" to={`/assets?level=${level}`}>
          <LevelLabel level={level} />
        </Go>,
        (levels?.[level] ?? 0).toLocaleString(language),
        `${(((levels?.[level] ?? 0) / total) * PERCENT).toFixed(1)} %`,
      ])}
      query={query}
      option={option}
      onSelect={({ data }) => void navigate({ to: '/assets', search: { level: (data as { id: Level }).id } } as never)}
    />
  );
}

/** stacked returns the options of a stacked bar chart by risk level, with the highest risk at the bottom. */
function stacked(css: Css, counts: readonly CountView[], named: (prefix: string, value: string) => string) {
  return [...LEVELS].map((level) => ({
    type: 'bar' as const,
    name: named('level', level),
    stack: 'all',
    itemStyle: { color: levelColor(css, level) },
    data: counts.map(({ levels }) => levels[level]),
  }));
}

export function FamilyPlot() {
  const { t, named, language } = useI18n();
  const navigate = useNavigate();
  const query = useQuery(countByFamilyOptions());
  const counts = useMemo(() => worstFirst(query.data?.items ?? [], 10), [query.data]);
  const option = useMemo(
    () =>
      (css: Css): EChartsOption => {
        const { tooltip, axis, grid, legend } = chrome(css);
        const upwards = [...counts].reverse();
        return {
          tooltip: { ...tooltip, trigger: 'axis', axisPointer: { type: 'shadow' } },
          legend,
          grid,
          xAxis: { type: 'value', ...axis, minInterval: 1 },
          yAxis: { type: 'category', ...axis, data: upwards.map(({ value }) => value) },
          series: stacked(css, upwards, named),
        };
      },
    [counts, named],
  );
  return (
    <ChartCard
      title={t('plot.families')}
      summary={counts.map(({ value, count }) => `${value}: ${count}`).join(', ')}
      columns={[t('family'), t('count'), ...LEVELS.map((level) => named('level', level))]}
      rows={counts.map(({ value, count, levels }) => [
        <Go key="f" to={`/assets?family=${encodeURIComponent(value)}`}>
          {value}
        </Go>,
        count.toLocaleString(language),
        ...LEVELS.map((level) => levels[level].toLocaleString(language)),
      ])}
      query={query}
      option={option}
      onSelect={({ name }) => void navigate({ to: '/assets', search: { family: name } } as never)}
    />
  );
}

/** sizeQuery returns a query for the asset list. */
const sizeQuery = (family = '', bits = 0): string => `family=${JSON.stringify(family)} and bits=${bits}`;
const deadlineQuery = (date: string): string => `deadline=${date}`;

export function SizePlot() {
  const { t, language } = useI18n();
  const navigate = useNavigate();
  const query = useQuery(countBySizeOptions());
  const { families, sizes, cells } = useMemo(() => heatCells(query.data?.items ?? []), [query.data]);
  const option = useMemo(
    () =>
      (css: Css): EChartsOption => {
        const { tooltip, axis, grid } = chrome(css);
        return {
          tooltip: {
            ...tooltip,
            formatter: (params) => {
              const [x, y, count] = (params as unknown as { value: [number, number, number] }).value;
              return `${families[y]} ${sizes[x]}: ${count.toLocaleString(language)}`;
            },
          },
          grid,
          xAxis: { type: 'category', ...axis, data: sizes.map(String) },
          yAxis: { type: 'category', ...axis, data: families },
          visualMap: {
            show: false,
            min: 0,
            max: Math.max(1, ...cells.map(([, , count]) => count)),
            inRange: {
              color: [css('pf-t--color--blue--20'), css('pf-t--color--blue--40'), css('pf-t--color--blue--60')],
            },
          },
          series: [{ type: 'heatmap', data: cells, label: { show: true }, itemStyle: { borderRadius: 3 } }],
        };
      },
    [cells, families, sizes, language],
  );
  return (
    <ChartCard
      title={t('plot.sizes')}
      summary={cells.map(([x, y, count]) => `${families[y]} ${sizes[x]}: ${count}`).join(', ')}
      columns={[t('family'), t('bits'), t('count')]}
      rows={cells.map(([x, y, count]) => [
        <Go key="f" to={`/assets?q=${encodeURIComponent(sizeQuery(families[y], sizes[x]))}`}>
          {families[y]}
        </Go>,
        sizes[x]?.toLocaleString(language),
        count.toLocaleString(language),
      ])}
      query={query}
      option={option}
      onSelect={({ data }) => {
        const [x, y] = data as [number, number, number];
        void navigate({ to: '/assets', search: { q: sizeQuery(families[y], sizes[x]) } } as never);
      }}
    />
  );
}

export function DeadlinePlot() {
  const { t, language } = useI18n();
  const navigate = useNavigate();
  const query = useQuery(countByDeadlineOptions());
  const steps = useMemo(() => burnDown(query.data?.items ?? []), [query.data]);
  const option = useMemo(
    () =>
      (css: Css): EChartsOption => {
        const { tooltip, axis, grid } = chrome(css);
        return {
          tooltip: { ...tooltip, trigger: 'axis' },
          grid,
          xAxis: daysAxis(css, language),
          yAxis: { type: 'value', ...axis, minInterval: 1 },
          series: [
            {
              type: 'line',
              step: 'end',
              name: t('plot.deadlines.left'),
              symbolSize: 8,
              color: css('pf-t--global--color--brand--default'),
              areaStyle: { opacity: 0.15 },
              data: steps.map(({ date, left }) => [date, left]),
            },
          ],
        };
      },
    [steps, t, language],
  );
  return (
    <ChartCard
      title={t('plot.deadlines')}
      summary={steps.map(({ date, due }) => `${date}: ${due}`).join(', ')}
      columns={[t('plot.deadlines.date'), t('plot.deadlines.due'), t('plot.deadlines.left')]}
      rows={steps
        .filter(({ due }) => due > 0)
        .map(({ date, due, left }) => [
          <Go key="d" to={`/assets?q=${encodeURIComponent(deadlineQuery(date))}`}>
            {date}
          </Go>,
          due.toLocaleString(language),
          left.toLocaleString(language),
        ])}
      query={query}
      option={option}
      onSelect={({ data }) => {
        const [date] = data as [string, number];
        void navigate({ to: '/assets', search: { q: deadlineQuery(date) } } as never);
      }}
    />
  );
}

export function ExpiryPlot() {
  const { t, named, language } = useI18n();
  const navigate = useNavigate();
  const query = useQuery(countByExpiryOptions({ query: { days: 365 } }));
  const months = useMemo(() => byMonth(query.data?.items ?? [], new Date()), [query.data]);
  const isEmpty = months.every(({ count }) => count === 0);
  const nameOf = (month: string) =>
    new Date(`${month}-01T00:00:00Z`).toLocaleDateString(language, {
      month: 'short',
      year: '2-digit',
      timeZone: 'UTC',
    });
  const option = useMemo(
    () =>
      (css: Css): EChartsOption => {
        const { tooltip, axis, grid, legend } = chrome(css);
        return {
          tooltip: { ...tooltip, trigger: 'axis', axisPointer: { type: 'shadow' } },
          grid,
          legend,
          xAxis: { type: 'category', ...axis, data: months.map(({ value }) => value) },
          yAxis: { type: 'value', ...axis, minInterval: 1 },
          series: stacked(css, months, named),
        };
      },
    [months, named],
  );
  const to = (month: string) => ({ expiresBefore: endOf(month), sort: 'notAfter' });
  return (
    <ChartCard
      title={t('plot.expiry')}
      summary={months.map(({ value, count }) => `${value}: ${count}`).join(', ')}
      columns={[t('month'), t('count')]}
      rows={
        isEmpty
          ? []
          : months.map(({ value, count }) => [
              <Go key="m" to={`/assets?expiresBefore=${endOf(value)}&sort=notAfter`}>
                {nameOf(value)}
              </Go>,
              count.toLocaleString(language),
            ])
      }
      query={query}
      option={option}
      onSelect={({ name }) => void navigate({ to: '/assets', search: to(name) } as never)}
    />
  );
}

/** endOf returns the first day of the month after `YYYY-MM`. */
function endOf(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 10);
}
