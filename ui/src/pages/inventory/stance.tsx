import { Label, type LabelProps, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import type { OpinionView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Facts } from '../../patterns/facts.js';
import { Day } from '../../patterns/moment.js';
import { SourceLink } from './source-link.js';

const COLORS: Record<OpinionView['stance'], LabelProps['color']> = {
  FAVOURS: 'green',
  ACCEPTS: 'teal',
  ACCEPTS_UNTIL: 'yellow',
  SILENT: 'grey',
  DISCOURAGES: 'orange',
  REJECTS: 'red',
};

interface StanceProps {
  readonly opinion: OpinionView | undefined;
  /** Shows the authority instead of the position, which the column heading contains. */
  readonly byName?: boolean;
  readonly look: (opinion: OpinionView) => void;
}

/** Stance shows an authority's position on an algorithm. A click opens the details. */
export function Stance({ opinion, byName = false, look }: StanceProps) {
  const { t, named } = useI18n();
  if (opinion === undefined || opinion.stance === 'SILENT') return <span className="sw-muted">–</span>;
  const { jurisdiction, stance, date } = opinion;
  const word =
    stance === 'ACCEPTS_UNTIL' && date !== null ? t('stand.until', { year: date.slice(0, 4) }) : named('stand', stance);
  return (
    <Label color={COLORS[stance] ?? 'grey'} isCompact onClick={() => look(opinion)}>
      {byName ? jurisdiction : word}
    </Label>
  );
}

/** useStanceDialog returns a single dialog for all positions on a page, because one popover per position would mean thousands of popovers. */
export function useStanceDialog(): { readonly look: (opinion: OpinionView) => void; readonly dialog: ReactNode } {
  const [opinion, look] = useState<OpinionView>();
  return { look, dialog: opinion && <Opinion opinion={opinion} onClose={() => look(undefined)} /> };
}

function Opinion({ opinion, onClose }: { opinion: OpinionView; onClose: () => void }) {
  const { t, named } = useI18n();
  const { jurisdiction, stance, reason, date, authority, provision, url, binding, draft } = opinion;
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="opinion-title">
      <ModalHeader title={`${jurisdiction} ${named('stance', stance)}`} labelId="opinion-title" />
      <ModalBody>
        <Facts
          facts={[
            [t('rules.reason'), reason],
            [t('plot.deadlines.date'), date && <Day key="d" at={date} />],
            [t('finding.standards'), authority && <SourceLink key="s" {...{ authority, provision, url }} />],
            [t('deadlines.force'), t(draft ? 'deadlines.draft' : binding ? 'deadlines.binding' : 'deadlines.advice')],
          ]}
        />
      </ModalBody>
    </Modal>
  );
}
