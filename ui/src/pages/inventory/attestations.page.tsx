import { Button } from '@patternfly/react-core';
import CertificateIcon from '@patternfly/react-icons/dist/esm/icons/certificate-icon';
import { useState } from 'react';
import { listAttestationsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { AttestationView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { AttestDialog } from './attest-dialog.js';
import { Share } from './requirement-results.js';

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
      {isMaking && <AttestDialog onClose={() => setMaking(false)} />}
    </PageFrame>
  );
}
