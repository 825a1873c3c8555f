import { Button } from '@patternfly/react-core';
import CertificateIcon from '@patternfly/react-icons/dist/esm/icons/certificate-icon';
import { useState } from 'react';
import { listSshAuthoritiesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { createSshAuthority } from '../../api/generated/sdk.gen.js';
import type { SshAuthorityView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';

const KINDS = ['user', 'host'] as const;

export function SshAuthoritiesPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [isCreating, setCreating] = useState(false);
  const add = may('ssh-ca:write') && <Button onClick={() => setCreating(true)}>{t('sshCa.create')}</Button>;
  return (
    <PageFrame title={t('nav.sshAuthorities')} lead={t('sshCa.lead')} actions={add}>
      <ResourceList<SshAuthorityView>
        name={t('nav.sshAuthorities')}
        list={(query) => listSshAuthoritiesOptions({ query })}
        rowKey={({ id }) => id}
        icon={CertificateIcon}
        emptyTitle={t('sshCa.none')}
        emptyBody={t('sshCa.none.body')}
        emptyAction={add}
        columns={[
          {
            name: t('name'),
            width: 20,
            cell: ({ id, name }) => (
              <Go to={`/ssh-authorities/${id}`} className="sw-row-link">
                <strong>{name}</strong>
              </Go>
            ),
          },
          { name: t('sshCa.certifies'), cell: ({ kind }) => named('sshCaKind', kind) },
          { name: t('status'), cell: ({ state }) => <StatusLabel status={state} /> },
          { name: t('fingerprint'), cell: ({ fingerprint }) => <span className="sw-mono">{fingerprint}</span> },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
      />
      {isCreating && <Create onClose={() => setCreating(false)} />}
    </PageFrame>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const { t, named } = useI18n();
  const action = useAction((values: Values, once) => createSshAuthority({ body: values as never, headers: once }), {
    changes: ['listSshAuthorities'],
    done: t('sshCa.created'),
  });
  return (
    <FormDialog
      title={t('sshCa.create')}
      lead={t('sshCa.create.lead')}
      submit={t('create')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, hint: t('sshCa.name.hint') },
        {
          name: 'kind',
          kind: 'choice',
          label: t('sshCa.certifies'),
          isRequired: true,
          options: KINDS.map((value) => ({ value, label: named('sshCaKind', value) })),
        },
      ]}
    />
  );
}
