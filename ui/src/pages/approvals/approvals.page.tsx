import CheckDoubleIcon from '@patternfly/react-icons/dist/esm/icons/check-double-icon';
import { listApprovalsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { ApprovalView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';

const STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'WITHDRAWN', 'SUPERSEDED'];

/** Tally shows the approvals so far and the number required in the current stage. */
export function Tally({ approval: { stages, stage } }: { approval: ApprovalView }) {
  const { t } = useI18n();
  const { approvals = 0, threshold = 0 } = stages[stage] ?? {};
  return <span className="sw-number">{t('approvals.tally', { approvals, threshold })}</span>;
}

export function ApprovalsPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  return (
    <PageFrame title={t('nav.approvals')} lead={t('approvals.lead')}>
      <ResourceList<ApprovalView>
        name={t('nav.approvals')}
        list={(query) => listApprovalsOptions({ query: query })}
        rowKey={({ id }) => id}
        icon={CheckDoubleIcon}
        refresh={() => 5000}
        filters={[
          {
            kind: 'choice',
            param: 'status',
            name: t('status'),
            isSingle: true,
            options: STATUSES.map((value) => ({ value, name: named('status', value) })),
          },
          ...(may('approvals:approve')
            ? [
                {
                  kind: 'choice' as const,
                  param: 'waiting',
                  name: t('approvals.waiting'),
                  isSingle: true,
                  options: [{ value: 'me', name: t('approvals.forMe') }],
                },
              ]
            : []),
        ]}
        emptyTitle={t('approvals.none')}
        emptyBody={t('approvals.none.body')}
        columns={[
          {
            name: t('approvals.request'),
            width: 35,
            cell: ({ id, title }) => (
              <Go to={`/approvals/${id}`} className="sw-row-link">
                {title}
              </Go>
            ),
          },
          { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
          { name: t('approvals.votes'), cell: (row) => <Tally approval={row} /> },
          { name: t('approvals.requester'), cell: ({ requester }) => requester.name },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            name: t('approvals.expires'),
            cell: ({ status, expiresAt }) => (status === 'PENDING' ? <Moment at={expiresAt} /> : '–'),
          },
        ]}
      />
    </PageFrame>
  );
}
