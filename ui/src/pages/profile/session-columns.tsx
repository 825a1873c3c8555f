import { Label } from '@patternfly/react-core';
import type { SessionView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import type { Column } from '../../patterns/data-table.js';
import { Moment } from '../../patterns/moment.js';
import { programOf } from './program-of.js';

/** useSessionColumns returns the columns that identify a session. */
export function useSessionColumns(): readonly Column<SessionView>[] {
  const { t, named } = useI18n();
  return [
    {
      name: t('sessions.agent'),
      width: 35,
      cell: ({ agent, current }) => (
        <>
          <span title={agent}>{programOf(agent) ?? (agent || '–')}</span>{' '}
          {current && (
            <Label color="green" isCompact>
              {t('sessions.current')}
            </Label>
          )}
        </>
      ),
    },
    { name: t('sessions.way'), cell: ({ way }) => named('way', way) },
    { name: t('audit.source'), cell: ({ lastUsedFrom, address }) => lastUsedFrom ?? address },
    { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { name: t('lastUsed'), cell: ({ lastUsedAt, createdAt }) => <Moment at={lastUsedAt ?? createdAt} /> },
  ];
}
