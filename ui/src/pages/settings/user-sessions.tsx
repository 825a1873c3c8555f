import { useQuery } from '@tanstack/react-query';
import { listUserSessionsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { SessionView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { useSessionColumns } from '../profile/session-columns.js';

/** UserSessions lists the sessions of a user and can end them. */
export function UserSessions({ id }: { id: string }) {
  const { t } = useI18n();
  const query = useQuery(listUserSessionsOptions({ path: { id } }));
  return (
    <DataTable<SessionView>
      name={t('sessions')}
      query={query}
      rowKey={(session) => session.id}
      empty={<p className="sw-muted">{t('users.sessions.none')}</p>}
      columns={useSessionColumns()}
    />
  );
}
