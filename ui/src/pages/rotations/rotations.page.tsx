import SyncAltIcon from '@patternfly/react-icons/dist/esm/icons/sync-alt-icon';
import { useQuery } from '@tanstack/react-query';
import { listRotationsOptions, listSshKeysOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { RotationView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';

const STATUSES: readonly RotationView['status'][] = [
  'SURVEYING',
  'PENDING_APPROVAL',
  'RUNNING',
  'HALTED',
  'AWAITING_HOLDER',
  'ROLLING_BACK',
  'PLANNED',
  'DONE',
  'PARTIAL',
  'ROLLED_BACK',
  'CANCELLED',
  'CRITICAL',
];

/** Final statuses of a rotation. */
const ENDS: readonly RotationView['status'][] = ['PLANNED', 'DONE', 'PARTIAL', 'ROLLED_BACK', 'CANCELLED', 'CRITICAL'];

export const isUnderWay = ({ status }: RotationView): boolean => !ENDS.includes(status);

export function RotationsPage() {
  const { t, named } = useI18n();
  const keys = useQuery(listSshKeysOptions({ query: { limit: 200 } }));
  const keyName = (id: string) => {
    const key = keys.data?.items.find((one) => one.id === id);
    return key?.comment ?? key?.fingerprint ?? id.slice(0, 13);
  };
  return (
    <PageFrame title={t('nav.rotations')} lead={t('rotations.lead')}>
      <ResourceList<RotationView>
        name={t('nav.rotations')}
        list={(query) => listRotationsOptions({ query })}
        rowKey={({ id }) => id}
        icon={SyncAltIcon}
        refresh={(rows) => (rows.some(isUnderWay) ? 2000 : false)}
        filters={[
          {
            kind: 'choice',
            param: 'status',
            name: t('status'),
            isSingle: true,
            options: STATUSES.map((value) => ({ value, name: named('status', value) })),
          },
          { kind: 'linked', param: 'keyId', name: t('rotations.key'), nameOf: keyName },
        ]}
        emptyTitle={t('rotations.none')}
        emptyBody={t('rotations.none.body')}
        columns={[
          {
            name: t('rotations.key'),
            width: 25,
            cell: ({ id, keyId }) => (
              <Go to={`/rotations/${id}`} className="sw-row-link">
                {keyName(keyId)}
              </Go>
            ),
          },
          { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
          { name: t('rotations.kind'), cell: ({ dryRun }) => t(dryRun ? 'rotations.dryRun' : 'rotations.real') },
          { name: t('sshKeys.custody'), cell: ({ custody }) => named('custody', custody) },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            name: t('request.finished'),
            cell: ({ finishedAt }) => (finishedAt === undefined ? '–' : <Moment at={finishedAt} />),
          },
        ]}
      />
    </PageFrame>
  );
}
