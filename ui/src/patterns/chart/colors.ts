import type { Level } from '../labels.js';

type Css = (name: string) => string;

interface Palette {
  readonly css: Css;
  readonly fontFamily: string;
}

/** CSS variables of all chart colors. They are read in one pass, because each read after a document change forces a style recalculation. */
const NAMES = [
  'pf-t--global--text--color--regular',
  'pf-t--global--text--color--subtle',
  'pf-t--global--border--color--default',
  'pf-t--global--background--color--floating--default',
  'pf-t--global--background--color--primary--default',
  'pf-t--global--color--brand--default',
  'pf-t--color--blue--20',
  'pf-t--color--blue--40',
  'pf-t--color--blue--50',
  'pf-t--color--blue--60',
  'pf-t--color--blue--70',
  ...['critical', 'high', 'medium', 'low', 'none', 'unjudged'].map((level) => `sw-level-${level}`),
];
const palettes = new Map<boolean, Palette>();

/** paletteOf returns the colors of the current theme. */
export function paletteOf(isDark: boolean): Palette {
  const known = palettes.get(isDark);
  if (known !== undefined) return known;
  const style = getComputedStyle(document.body);
  const read = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const values = new Map(NAMES.map((name) => [name, read(name)]));
  const palette = { css: (name: string) => values.get(name) ?? read(name), fontFamily: style.fontFamily };
  palettes.set(isDark, palette);
  return palette;
}

/** levelColor returns the color of a risk level, defined in sealwright.css. Order and legend carry the same information. */
export const levelColor = (css: Css, level: Level | 'UNJUDGED'): string => css(`sw-level-${level.toLowerCase()}`);

/** daysAxis returns a time axis with localized days. January is labeled with the year. */
export function daysAxis(css: Css, language: string) {
  const format = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' });
  const shown = (time: number) => {
    const day = new Date(time);
    return day.getMonth() === 0 && day.getDate() === 1 ? String(day.getFullYear()) : format.format(day);
  };
  const { axis } = chrome(css);
  const axisLabel = { ...axis.axisLabel, formatter: shown };
  return { ...axis, type: 'time' as const, splitNumber: 4, axisLabel };
}

/** chrome returns the common options of axes, lines and tooltips. */
export function chrome(css: Css) {
  const text = css('pf-t--global--text--color--subtle');
  const line = { lineStyle: { color: css('pf-t--global--border--color--default') } };
  return {
    // HTML tooltips would need innerHTML, which the Trusted Types policy blocks.
    tooltip: {
      renderMode: 'richText' as const,
      backgroundColor: css('pf-t--global--background--color--floating--default'),
      borderColor: css('pf-t--global--border--color--default'),
      textStyle: { color: css('pf-t--global--text--color--regular') },
    },
    axis: { axisLabel: { color: text, hideOverlap: true }, axisLine: line, splitLine: line, axisTick: { show: false } },
    legend: { textStyle: { color: text }, itemWidth: 12, itemHeight: 12, bottom: 0 },
    grid: { left: 8, right: 16, top: 16, bottom: 32, containLabel: true },
  };
}
