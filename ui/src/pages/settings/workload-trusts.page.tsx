import { Button, HelperText, HelperTextItem } from '@patternfly/react-core';
import IdBadgeIcon from '@patternfly/react-icons/dist/esm/icons/id-badge-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import {
  listWorkloadIssuersOptions,
  listWorkloadTrustsOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import { changeWorkloadTrust, removeWorkloadTrust, tryWorkloadTrusts } from '../../api/generated/sdk.gen.js';
import type { WorkloadTrustView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { ClaimConditions } from '../../patterns/claim-conditions.js';
import { Confirm } from '../../patterns/confirm.js';
import type { Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { type TriedCaller, type TriedVerdict, TryToken } from '../../patterns/try-token.js';
import { useAction } from '../../patterns/use-action.js';
import { Scopes } from './api-keys.page.js';
import { EditTrust, trustBodyOf } from './edit-workload-trust.js';

const MAX_ISSUERS = 200;

type Dialog =
  | { readonly kind: 'edit'; readonly of?: WorkloadTrustView }
  | { readonly kind: 'try' }
  | { readonly kind: 'remove'; readonly of: WorkloadTrustView };

/** WorkloadTrustsPage lists which workload tokens are accepted and what access they grant. */
export function WorkloadTrustsPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const canWrite = may('settings:write');
  const issuers = useQuery(listWorkloadIssuersOptions({ query: { limit: MAX_ISSUERS } }));
  const known = issuers.data?.items ?? [];
  const nameOf = (id: string) => known.find((issuer) => issuer.id === id)?.name ?? id;
  const toggle = useAction(
    (of: WorkloadTrustView) =>
      changeWorkloadTrust({
        path: { id: of.id },
        body: { ...trustBodyOf(of), enabled: !of.enabled },
        headers: ifMatch(of.version),
      }),
    { changes: ['listWorkloadTrusts'], done: t('saved') },
  );
  // A trust requires an issuer.
  const add = canWrite && (
    <Button isDisabled={known.length === 0} onClick={() => setDialog({ kind: 'edit' })}>
      {t('trusts.create')}
    </Button>
  );
  return (
    <PageFrame
      title={t('nav.workloadTrusts')}
      lead={t('trusts.lead')}
      actions={
        <>
          {add}
          <Button variant="secondary" onClick={() => setDialog({ kind: 'try' })}>
            {t('claims.try')}
          </Button>
        </>
      }
    >
      <ResourceList<WorkloadTrustView>
        name={t('nav.workloadTrusts')}
        list={(query) => listWorkloadTrustsOptions({ query })}
        rowKey={({ id }) => id}
        icon={IdBadgeIcon}
        emptyTitle={t('trusts.none')}
        emptyBody={t(known.length === 0 ? 'trusts.none.issuer' : 'trusts.none.body')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 15, cell: ({ name }) => <strong>{name}</strong> },
          { name: t('status'), cell: ({ enabled }) => <StatusLabel status={enabled ? 'ACTIVE' : 'DISABLED'} /> },
          { name: t('issuers.issuer'), cell: ({ issuerId }) => nameOf(issuerId) },
          {
            name: t('claims.conditions'),
            width: 30,
            cell: ({ conditions, pullRequests, warnings }) => (
              <>
                <ClaimConditions conditions={conditions} />
                {warnings.length > 0 && (
                  <HelperText>
                    <HelperTextItem variant="warning">{t('trusts.tenantNotNamed')}</HelperTextItem>
                  </HelperText>
                )}
                {pullRequests && <span className="sw-muted">{t('trusts.pullRequests.yes')}</span>}
              </>
            ),
          },
          { name: t('scopes'), width: 20, cell: ({ scopes }) => <Scopes scopes={scopes} /> },
          { name: t('policies.keys'), cell: ({ keys }) => keys.join(', ') || '–' },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              canWrite && (
                <RowActions
                  of={row.name}
                  actions={[
                    { name: t('edit'), run: () => setDialog({ kind: 'edit', of: row }) },
                    { name: t(row.enabled ? 'disable' : 'enable'), run: () => toggle.mutate(row) },
                    { name: t('remove'), run: () => setDialog({ kind: 'remove', of: row }), isDanger: true },
                  ]}
                />
              ),
          },
        ]}
      />
      {dialog?.kind === 'edit' && <EditTrust {...dialog} issuers={known} onClose={() => setDialog(undefined)} />}
      {dialog?.kind === 'try' && <TryTrusts onClose={() => setDialog(undefined)} />}
      {dialog?.kind === 'remove' && <RemoveTrust {...dialog} onClose={() => setDialog(undefined)} />}
    </PageFrame>
  );
}

function TryTrusts({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction(
    async ({ claims }: TriedCaller): Promise<{ data: TriedVerdict[] }> => {
      const { data } = await tryWorkloadTrusts({ body: { claims } });
      return { data: data.items.map(({ trust, ...verdict }) => ({ ...trust, ...verdict })) };
    },
    { changes: [] },
  );
  return (
    <TryToken
      lead={t('trusts.try.lead')}
      column={t('trusts.one')}
      none={t('trusts.none')}
      action={action}
      onClose={onClose}
    />
  );
}

function RemoveTrust({ of: { id, name }, onClose }: Extract<Dialog, { kind: 'remove' }> & { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => removeWorkloadTrust({ path: { id } }), {
    changes: ['listWorkloadTrusts'],
    done: t('removed'),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('trusts.remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
