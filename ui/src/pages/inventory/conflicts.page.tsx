import { EmptyState } from '@patternfly/react-core';
import BalanceScaleIcon from '@patternfly/react-icons/dist/esm/icons/balance-scale-icon';
import { useQuery } from '@tanstack/react-query';
import { listJurisdictionConflictsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { ConflictView, OpinionView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Go } from '../../patterns/go.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Stance, useStanceDialog } from './stance.js';

/** ConflictsPage lists algorithms in use on which authorities conflict, and alternatives that all authorities accept. */
export function ConflictsPage() {
  const { t, named } = useI18n();
  const query = useQuery(listJurisdictionConflictsOptions());
  const { look, dialog } = useStanceDialog();
  const said = (opinions: readonly OpinionView[]) => (
    <span className="sw-labels">
      {opinions.map((opinion) => (
        <Stance key={opinion.jurisdiction} opinion={opinion} byName look={look} />
      ))}
    </span>
  );
  return (
    <PageFrame title={t('nav.conflicts')} lead={t('conflicts.lead')}>
      <DataTable<ConflictView>
        name={t('nav.conflicts')}
        query={query}
        rowKey={({ purpose, algorithm }) => `${purpose} ${algorithm}`}
        empty={<EmptyState headingLevel="h2" titleText={t('conflicts.none')} icon={BalanceScaleIcon} />}
        columns={[
          {
            name: t('conflicts.algorithm'),
            width: 20,
            cell: ({ algorithm, family }) => <Go to={`/assets?family=${encodeURIComponent(family)}`}>{algorithm}</Go>,
          },
          { name: t('conflicts.purpose'), cell: ({ purpose }) => named('purpose', purpose) },
          { name: t('nav.assets'), cell: ({ assets }) => assets },
          { name: t('conflicts.favour'), width: 20, cell: ({ favour }) => said(favour) },
          { name: t('conflicts.against'), width: 20, cell: ({ against }) => said(against) },
          {
            name: t('conflicts.alternatives'),
            cell: ({ satisfiesAll }) => satisfiesAll ?? t('conflicts.noAlternatives'),
          },
        ]}
      />
      {dialog}
    </PageFrame>
  );
}
