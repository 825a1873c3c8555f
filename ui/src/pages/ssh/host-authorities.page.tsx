import { Button } from '@patternfly/react-core';
import CertificateIcon from '@patternfly/react-icons/dist/esm/icons/certificate-icon';
import { useState } from 'react';
import { listHostAuthoritiesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { addHostAuthority, removeHostAuthority } from '../../api/generated/sdk.gen.js';
import type { HostAuthorityView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Copyable } from '../../patterns/copyable.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';

const changes = ['listHostAuthorities'];

/** HostAuthoritiesPage lists the CAs whose host certificates are accepted. */
export function HostAuthoritiesPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isAdding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<HostAuthorityView>();
  const add = may('hosts:write') && <Button onClick={() => setAdding(true)}>{t('hostCa.add')}</Button>;
  return (
    <PageFrame title={t('nav.hostAuthorities')} lead={t('hostCa.lead')} actions={add}>
      <ResourceList<HostAuthorityView>
        name={t('nav.hostAuthorities')}
        list={() => listHostAuthoritiesOptions()}
        rowKey={({ id }) => id}
        icon={CertificateIcon}
        emptyTitle={t('hostCa.none')}
        emptyBody={t('hostCa.none.body')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 20, cell: ({ name }) => <strong>{name}</strong> },
          { name: t('type'), cell: ({ type }) => <span className="sw-nowrap">{type}</span> },
          { name: t('fingerprint'), width: 35, cell: ({ fingerprint }) => <Copyable text={fingerprint} /> },
          { name: t('hostCa.by'), cell: ({ createdBy }) => createdBy },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              may('hosts:write') && (
                <RowActions
                  of={row.name}
                  actions={[{ name: t('hostCa.remove'), run: () => setRemoved(row), isDanger: true }]}
                />
              ),
          },
        ]}
      />
      {isAdding && <Add onClose={() => setAdding(false)} />}
      {removed !== undefined && <Remove authority={removed} onClose={() => setRemoved(undefined)} />}
    </PageFrame>
  );
}

function Add({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((values: Values, once) => addHostAuthority({ body: values as never, headers: once }), {
    changes,
    done: t('hostCa.added'),
  });
  return (
    <FormDialog
      title={t('hostCa.add')}
      lead={t('hostCa.add.lead')}
      submit={t('hostCa.add')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true },
        {
          name: 'publicKey',
          kind: 'area',
          label: t('signature.publicKey'),
          hint: t('hostCa.publicKey.hint'),
          isRequired: true,
        },
      ]}
    />
  );
}

function Remove({ authority: { id, name }, onClose }: { authority: HostAuthorityView; onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => removeHostAuthority({ path: { id } }), { changes, done: t('removed') });
  return (
    <Confirm
      title={t('hostCa.remove')}
      lead={t('hostCa.remove.lead', { name })}
      submit={t('hostCa.remove')}
      action={action}
      onClose={onClose}
    />
  );
}
