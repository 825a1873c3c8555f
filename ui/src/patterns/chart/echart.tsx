import { BarChart, GraphChart, HeatmapChart, LineChart, PieChart } from 'echarts/charts';
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapComponent,
} from 'echarts/components';
import { type EChartsType, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import type { EChartsOption } from 'echarts';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { useColorScheme } from '../../theme/color-scheme.js';
import { paletteOf } from './colors.js';

use([
  AriaComponent,
  BarChart,
  GraphChart,
  GridComponent,
  HeatmapChart,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  PieChart,
  SVGRenderer,
  TooltipComponent,
  VisualMapComponent,
]);

export interface EChartProps {
  readonly option: (css: (name: string) => string) => EChartsOption;
  readonly onSelect?: (item: { readonly name: string; readonly series: string; readonly data: unknown }) => void;
  readonly label: string;
}

const reduced = window.matchMedia('(prefers-reduced-motion: reduce)');

/** useIsNear reports whether a chart is near the viewport. Drawing all charts of a page at once would delay the page. */
function useIsNear(box: RefObject<HTMLElement | null>): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (box.current === null || isNear) return undefined;
    const watcher = new IntersectionObserver(([entry]) => entry?.isIntersecting && setNear(true), {
      rootMargin: '25%',
    });
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [box, isNear]);
  return isNear;
}

/** EChart draws a chart as SVG in the theme colors, and follows the size of its container. */
export function EChart({ option, onSelect, label }: EChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType>(undefined);
  const isNear = useIsNear(box);
  const { isDark } = useColorScheme();
  const select = useRef(onSelect);
  select.current = onSelect;

  useEffect(() => {
    const element = box.current;
    if (element === null || !isNear) return undefined;
    const made = init(element, null, { renderer: 'svg' });
    made.on('click', ({ name, seriesName, data }) => select.current?.({ name, series: seriesName ?? '', data }));
    const watcher = new ResizeObserver(() => made.resize());
    watcher.observe(element);
    chart.current = made;
    return () => {
      watcher.disconnect();
      made.dispose();
    };
  }, [isNear]);

  // Update the existing chart on new data or colors: recreating all charts would freeze the page.
  useEffect(() => {
    if (!isNear) return;
    const { css, fontFamily } = paletteOf(isDark);
    chart.current?.setOption(
      {
        backgroundColor: 'transparent',
        animation: !reduced.matches,
        animationDuration: 300,
        textStyle: { fontFamily, color: css('pf-t--global--text--color--regular') },
        ...option(css),
      },
      { notMerge: true },
    );
  }, [option, isDark, isNear]);

  return <div ref={box} data-near={isNear} className="sw-chart" role="img" aria-label={label} />;
}
