import { Label } from '@patternfly/react-core';
import BellIcon from '@patternfly/react-icons/dist/esm/icons/bell-icon';
import { useQuery } from '@tanstack/react-query';
import { listAlertRulesOptions, listAlertsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { AlertView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Person } from '../../patterns/person.js';
import { ResourceList } from '../../patterns/resource-list.js';

const STATUSES = ['OPEN', 'ACKNOWLEDGED', 'REOPENED', 'RESOLVED'];
const COLORS = { critical: 'red', warning: 'orange', info: 'blue' } as const;

export function Severity({ severity }: Pick<AlertView, 'severity'>) {
  const { named } = useI18n();
  return (
    <Label color={COLORS[severity]} isCompact>
      {named('severity', severity)}
    </Label>
  );
}

function AlertRuleName({ id }: { id: string }) {
  const { data } = useQuery(listAlertRulesOptions());
  return data?.items.find((rule) => rule.id === id)?.name ?? id;
}

export function AlertsPage() {
  const { t, named } = useI18n();
  return (
    <PageFrame title={t('nav.alerts')} lead={t('alerts.lead')}>
      <ResourceList<AlertView>
        name={t('nav.alerts')}
        list={(query) => listAlertsOptions({ query })}
        rowKey={({ id }) => id}
        icon={BellIcon}
        refresh={() => 15_000}
        filters={[
          {
            kind: 'choice',
            param: 'status',
            name: t('status'),
            isSingle: true,
            options: STATUSES.map((value) => ({ value, name: named('status', value) })),
          },
          { kind: 'linked', param: 'rule', name: t('rules.rule'), nameOf: (id) => <AlertRuleName id={id} /> },
          { kind: 'linked', param: 'owner', name: t('asset.owner') },
        ]}
        emptyTitle={t('alerts.none')}
        emptyBody={t('alerts.none.body')}
        columns={[
          {
            name: t('alerts.alert'),
            width: 35,
            cell: ({ id, title }) => (
              <Go to={`/alerts/${id}`} className="sw-row-link">
                {title}
              </Go>
            ),
          },
          { name: t('severity'), cell: ({ severity }) => <Severity severity={severity} /> },
          { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
          { name: t('alerts.count'), cell: ({ count }) => count },
          { name: t('alerts.subject'), cell: ({ subject }) => subject.name },
          { name: t('asset.owner'), cell: ({ ownerId }) => (ownerId === null ? '–' : <Person id={ownerId} />) },
          { name: t('alerts.last'), cell: ({ lastAt }) => <Moment at={lastAt} /> },
        ]}
      />
    </PageFrame>
  );
}
