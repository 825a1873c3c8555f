import { Button, EmptyState } from '@patternfly/react-core';
import ClipboardCheckIcon from '@patternfly/react-icons/dist/esm/icons/clipboard-check-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listAttestationsOptions, listPolicyPacksOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { PolicyPackView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Go } from '../../patterns/go.js';
import { Day } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { PolicyPackDialog } from './policy-pack-dialog.js';

/** PolicyPacksPage lists the built-in policy packs and those of the organization. */
export function PolicyPacksPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isCreating, setCreating] = useState(false);
  const query = useQuery(listPolicyPacksOptions());
  return (
    <PageFrame
      title={t('nav.policyPacks')}
      lead={t('policyPacks.lead')}
      actions={may('inventory:write') && <Button onClick={() => setCreating(true)}>{t('policyPacks.create')}</Button>}
    >
      <DataTable<PolicyPackView>
        name={t('nav.policyPacks')}
        query={query}
        rowKey={({ id }) => id}
        empty={<EmptyState headingLevel="h2" titleText={t('policyPacks.none')} icon={ClipboardCheckIcon} />}
        columns={[
          {
            name: t('name'),
            width: 20,
            cell: ({ id, name }) => (
              <Go to={`/policy-packs/${id}`} className="sw-row-link">
                {name}
              </Go>
            ),
          },
          {
            name: t('policyPacks.about'),
            width: 40,
            cell: ({ description, owner, version }) => (
              <>
                {description}
                <div className="sw-muted">{`${owner} · ${version}`}</div>
              </>
            ),
          },
          { name: t('attestations.results'), cell: ({ requirements }) => requirements.length },
          { name: t('policyPacks.attested'), cell: ({ id }) => <Attested pack={id} /> },
        ]}
      />
      {isCreating && <PolicyPackDialog onClose={() => setCreating(false)} />}
    </PageFrame>
  );
}

/** Attested shows when the latest attestation expires. */
function Attested({ pack }: { pack: string }) {
  const { t } = useI18n();
  const { data } = useQuery(listAttestationsOptions({ query: { pack, limit: 1 } }));
  const [latest] = data?.items ?? [];
  if (latest === undefined) return <span className="sw-muted">{data && t('policyPacks.notYet')}</span>;
  return (
    <Go to={`/attestations/${latest.id}`}>{latest.expired ? t('status.EXPIRED') : <Day at={latest.expiresAt} />}</Go>
  );
}
