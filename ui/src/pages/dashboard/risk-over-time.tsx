import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { EChartsOption } from 'echarts';
import { useMemo } from 'react';
import { getRiskOverTimeOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { ChartCard } from '../../patterns/chart/chart-card.js';
import { chrome, daysAxis, levelColor } from '../../patterns/chart/colors.js';
import { LEVELS } from '../../patterns/labels.js';
import { Day } from '../../patterns/moment.js';

/** RiskOverTimePlot shows the number of assets by risk level at the end of each day, and now. */
export function RiskOverTimePlot() {
  const { t, named, language } = useI18n();
  const navigate = useNavigate();
  const query = useQuery(getRiskOverTimeOptions());
  const days = useMemo(() => {
    if (query.data === undefined) return [];
    const today = new Date().toISOString().slice(0, 10);
    const { items, now } = query.data;
    return [...items.filter(({ day }) => day < today), { ...now, day: today }];
  }, [query.data]);
  const option = useMemo(
    () =>
      (css: (name: string) => string): EChartsOption => {
        const { tooltip, axis, grid, legend } = chrome(css);
        return {
          tooltip: { ...tooltip, trigger: 'axis' },
          legend,
          grid,
          xAxis: daysAxis(css, language),
          yAxis: { type: 'value', ...axis, minInterval: 1 },
          series: LEVELS.map((level) => ({
            id: level,
            type: 'line',
            name: named('level', level),
            stack: 'all',
            triggerLineEvent: true,
            symbolSize: days.length > 31 ? 0 : 5,
            color: levelColor(css, level),
            areaStyle: { opacity: 0.5 },
            data: days.map(({ day, levels }) => [day, levels[level]]),
          })),
        };
      },
    [days, named, language],
  );
  return (
    <ChartCard
      title={t('plot.overTime')}
      summary={days
        .slice(-1)
        .flatMap(({ levels }) => LEVELS.map((level) => `${named('level', level)}: ${levels[level]}`))
        .join(', ')}
      columns={[t('plot.overTime.day'), t('count'), ...LEVELS.map((level) => named('level', level))]}
      rows={[...days]
        .reverse()
        .map(({ day, total, levels }) => [
          <Day key="d" at={day} />,
          total.toLocaleString(language),
          ...LEVELS.map((level) => levels[level].toLocaleString(language)),
        ])}
      query={query}
      option={option}
      onSelect={({ series }) => {
        const level = LEVELS.find((one) => named('level', one) === series);
        if (level !== undefined) void navigate({ to: '/assets', search: { level } } as never);
      }}
    />
  );
}
