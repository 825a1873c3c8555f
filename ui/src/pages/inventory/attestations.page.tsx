import { Button } from '@patternfly/react-core';
import CertificateIcon from '@patternfly/react-icons/dist/esm/icons/certificate-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { onceOnly } from '../../api/client.js';
import { listAttestationsOptions, listPolicyPacksOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { attest } from '../../api/generated/sdk.gen.js';
import type { AttestationView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';

export function Share({ value }: { value: number | null }) {
  const { language } = useI18n();
  return value === null ? '–' : value.toLocaleString(language, { style: 'percent', maximumFractionDigits: 0 });
}

/** How the inventory stood against a policy, who looked, and until when it is good. */
export function AttestationsPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isMaking, setMaking] = useState(false);
  const add = may('inventory:write') && <Button onClick={() => setMaking(true)}>{t('attestations.create')}</Button>;
  return (
    <PageFrame title={t('nav.attestations')} lead={t('attestations.lead')} actions={add}>
      <ResourceList<AttestationView>
        name={t('nav.attestations')}
        list={(query) => listAttestationsOptions({ query })}
        rowKey={({ id }) => id}
        icon={CertificateIcon}
        emptyTitle={t('attestations.none')}
        emptyBody={t('attestations.lead')}
        emptyAction={add}
        columns={[
          {
            name: t('attestations.pack'),
            width: 25,
            cell: ({ id, pack }) => (
              <Go to={`/attestations/${id}`} className="sw-row-link">
                {pack.name}
              </Go>
            ),
          },
          { name: t('attestations.score'), cell: ({ score }) => <Share value={score} /> },
          { name: t('status'), cell: ({ expired }) => <StatusLabel status={expired ? 'EXPIRED' : 'ACTIVE'} /> },
          { name: t('attestations.reviewer'), cell: ({ reviewer }) => reviewer },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          { name: t('attestations.until'), cell: ({ expiresAt }) => <Day at={expiresAt} /> },
        ]}
      />
      {isMaking && <Attest onClose={() => setMaking(false)} />}
    </PageFrame>
  );
}

function Attest({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const packs = useQuery(listPolicyPacksOptions());
  const action = useAction((values: Values) => attest({ body: values as never, headers: onceOnly() }), {
    changes: ['listAttestations'],
    done: t('saved'),
  });
  if (packs.data === undefined) return null;
  return (
    <FormDialog
      title={t('attestations.create')}
      lead={t('attestations.create.lead')}
      submit={t('attestations.create')}
      action={action}
      onClose={onClose}
      fields={[
        {
          name: 'pack',
          kind: 'choice',
          label: t('attestations.pack'),
          isRequired: true,
          options: packs.data.items.map(({ id, name }) => ({ value: id, label: name })),
        },
        { name: 'scope', label: t('attestations.scope'), hint: t('attestations.scope.hint') },
        { name: 'statement', kind: 'area', label: t('attestations.statement'), isRequired: true },
      ]}
    />
  );
}
