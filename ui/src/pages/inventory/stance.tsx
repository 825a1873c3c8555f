import { Label, type LabelProps, Popover } from '@patternfly/react-core';
import type { OpinionView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Day } from '../../patterns/moment.js';

const COLOURS: Record<OpinionView['stance'], LabelProps['color']> = {
  FAVOURS: 'green',
  ACCEPTS: 'teal',
  ACCEPTS_UNTIL: 'yellow',
  SILENT: 'grey',
  DISCOURAGES: 'orange',
  REJECTS: 'red',
};

interface StanceProps {
  readonly opinion: OpinionView | undefined;
  /** Shows who says it; what is said is told by the column. */
  readonly byName?: boolean;
}

/** What one authority says about an algorithm, in a word; where it says so, on a click. */
export function Stance({ opinion, byName = false }: StanceProps) {
  const { t, named } = useI18n();
  if (opinion === undefined || opinion.stance === 'SILENT') return <span className="sw-muted">–</span>;
  const { jurisdiction, stance, reason, date, authority, binding, draft } = opinion;
  const word =
    stance === 'ACCEPTS_UNTIL' && date !== null ? t('stand.until', { year: date.slice(0, 4) }) : named('stand', stance);
  const force = t(draft ? 'deadlines.draft' : binding ? 'deadlines.binding' : 'deadlines.advice');
  return (
    <Popover
      headerContent={`${jurisdiction} ${named('stance', stance)}`}
      bodyContent={
        <>
          {reason !== null && <p>{reason}</p>}
          {date !== null && (
            <p>
              {t('plot.deadlines.date')}: <Day at={date} />
            </p>
          )}
        </>
      }
      footerContent={<span className="sw-muted">{[authority, force].filter(Boolean).join(' · ')}</span>}
    >
      <Label color={COLOURS[stance] ?? 'grey'} isCompact onClick={() => undefined}>
        {byName ? jurisdiction : word}
      </Label>
    </Popover>
  );
}
