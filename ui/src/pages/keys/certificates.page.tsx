import { Button, Label } from '@patternfly/react-core';
import CertificateIcon from '@patternfly/react-icons/dist/esm/icons/certificate-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listCertificatesOptions, listSigningKeysOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { onboardCertificate } from '../../api/generated/sdk.gen.js';
import type { CertificateView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { Day } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';

const SOON_DAYS = 30;

export function CertificatesPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  const keys = useQuery({ ...listSigningKeysOptions({ query: { limit: 200 } }), enabled: may('signing-keys:read') });
  const keyName = (id: string) => keys.data?.items.find((key) => key.id === id)?.name ?? '';
  const onboard = useAction((values: Values) => onboardCertificate({ body: values as never }), {
    changes: ['listCertificates'],
    done: t('certificates.onboarded'),
  });
  const add = may('signing-keys:write') && <Button onClick={() => setOpen(true)}>{t('certificates.onboard')}</Button>;
  return (
    <PageFrame title={t('nav.certificates')} lead={t('certificates.lead')} actions={add}>
      <ResourceList<CertificateView>
        name={t('nav.certificates')}
        list={(query) => listCertificatesOptions({ query })}
        rowKey={({ id }) => id}
        icon={CertificateIcon}
        emptyTitle={t('certificates.none')}
        emptyAction={add}
        columns={[
          { name: t('certificates.subject'), width: 30, cell: ({ subject }) => <strong>{subject}</strong> },
          { name: t('certificates.issuer'), cell: ({ issuer }) => issuer },
          { name: t('certificates.ends'), cell: (row) => <Ends certificate={row} /> },
          {
            name: t('key'),
            cell: ({ keyId, keyVersion }) =>
              keyId === undefined ? (
                '–'
              ) : (
                <Go to={`/keys/${keyId}`}>
                  {`${keyName(keyId)} ${t('certificates.ofVersion', { version: keyVersion ?? 1 })}`.trim()}
                </Go>
              ),
          },
          {
            name: t('fingerprint'),
            cell: ({ fingerprint }) => <Copyable text={fingerprint} shown={`${fingerprint.slice(0, 16)}…`} />,
          },
        ]}
      />
      {isOpen && (
        <FormDialog
          title={t('certificates.onboard')}
          lead={t('certificates.onboard.lead')}
          submit={t('import')}
          action={onboard}
          onClose={() => setOpen(false)}
          fields={[{ name: 'chain', kind: 'area', label: t('key.chain'), isRequired: true }]}
        />
      )}
    </PageFrame>
  );
}

function Ends({ certificate: { notAfter, daysLeft } }: { certificate: CertificateView }) {
  const { t } = useI18n();
  return (
    <>
      <Day at={notAfter} />{' '}
      {daysLeft < SOON_DAYS && (
        <Label color={daysLeft < 0 ? 'red' : 'orange'} isCompact>
          {daysLeft < 0 ? t('certificates.expired') : t('certificates.daysLeft', { count: daysLeft })}
        </Label>
      )}
    </>
  );
}
