import { useI18n } from '../i18n/i18n.js';

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

function relative(seconds: number, language: string): string {
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return format.format(Math.trunc(seconds / size), unit);
  }
  return format.format(0, 'second');
}

/** duration formats a time span in its largest unit: `3 min`. */
export function duration(milliseconds: number, language: string): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? (['second', 1] as const);
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: 0,
  }).format(seconds / size);
}

/** Moment shows a relative time. The exact time is in the tooltip and the `dateTime` attribute. */
export function Moment({ at, exact = false }: { at: string | null | undefined; exact?: boolean }) {
  const { t, language } = useI18n();
  if (at === null || at === undefined) return <span className="sw-muted">{t('never')}</span>;
  const date = new Date(at);
  const full = date.toLocaleString(language, { dateStyle: 'medium', timeStyle: 'medium' });
  return (
    <time dateTime={at} title={full} className="sw-nowrap">
      {exact ? full : relative((date.getTime() - Date.now()) / 1000, language)}
    </time>
  );
}

/** dayText formats a day. A day without a time, such as a deadline, is the same in every time zone. */
export function dayText(at: string, language: string): string {
  const zone = /^\d{4}-\d\d-\d\d$/.test(at) ? { timeZone: 'UTC' } : {};
  return new Date(at).toLocaleDateString(language, { dateStyle: 'medium', ...zone });
}

/** Day shows a day, such as a deadline. */
export function Day({ at }: { at: string | null | undefined }) {
  const { language } = useI18n();
  if (at === null || at === undefined) return <span className="sw-muted">–</span>;
  return (
    <time dateTime={at} className="sw-nowrap">
      {dayText(at, language)}
    </time>
  );
}
