import { Button } from '@patternfly/react-core';
import KeyIcon from '@patternfly/react-icons/dist/esm/icons/key-icon';
import { useState } from 'react';
import { listSigningKeysOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { createSigningKey } from '../../api/generated/sdk.gen.js';
import type { CreateSigningKeyBody, SigningKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import type { Filter } from '../../patterns/filter-bar.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';

const TYPES = ['ec-p256', 'ec-p384', 'ec-p521', 'rsa-3072', 'rsa-4096', 'rsa-2048'];
const PURPOSES = [
  'signing',
  'code-signing',
  'documents',
  'openpgp',
  'ssh-login',
  'ssh-signatures',
  'tls-client',
  'timestamping',
  'certificates',
];

const STATES = ['ACTIVE', 'DISABLED', 'PENDING_DESTRUCTION', 'DESTROYED'];

/** Returns a filter with a single choice. */
function choice(param: string, name: string, values: readonly string[], nameOf = (value: string) => value): Filter {
  return {
    kind: 'choice',
    param,
    name,
    isSingle: true,
    options: values.map((value) => ({ value, name: nameOf(value) })),
  };
}

export function KeysPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  const create = may('signing-keys:write') && <Button onClick={() => setOpen(true)}>{t('keys.create')}</Button>;
  return (
    <PageFrame title={t('nav.keys')} lead={t('keys.lead')} actions={create}>
      <ResourceList<SigningKeyView>
        name={t('nav.keys')}
        list={({ name, ...query }) =>
          listSigningKeysOptions({ query: name === undefined ? query : { ...query, name: `${String(name)}*` } })
        }
        filters={[
          { kind: 'text', param: 'name', name: t('name') },
          choice('state', t('status'), STATES, (value) => named('status', value)),
          choice('type', t('type'), TYPES),
          choice('purpose', t('keys.purpose'), PURPOSES, (value) => named('purpose', value)),
        ]}
        rowKey={({ id }) => id}
        icon={KeyIcon}
        emptyTitle={t('keys.none')}
        emptyAction={create}
        refresh={(rows) => (rows.some(({ state }) => state === 'GENERATING') ? 1000 : false)}
        columns={[
          {
            name: t('name'),
            width: 30,
            cell: ({ id, name }) => (
              <Go to={`/keys/${id}`} className="sw-row-link">
                {name}
              </Go>
            ),
          },
          { name: t('status'), cell: ({ state }) => <StatusLabel status={state} /> },
          { name: t('type'), cell: ({ type }) => type },
          { name: t('keys.purpose'), cell: ({ purpose }) => named('purpose', purpose) },
          { name: t('version'), cell: ({ version }) => version },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
      />
      {isOpen && <CreateKey onClose={() => setOpen(false)} />}
    </PageFrame>
  );
}

function CreateKey({ onClose }: { onClose: () => void }) {
  const { t, named } = useI18n();
  const action = useAction(
    (values: Values, once) => createSigningKey({ body: values as unknown as CreateSigningKeyBody, headers: once }),
    { changes: ['listSigningKeys'], done: t('keys.created') },
  );
  return (
    <FormDialog
      title={t('keys.create')}
      lead={t('keys.create.lead')}
      submit={t('create')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, hint: t('keys.name.hint') },
        {
          name: 'type',
          kind: 'choice',
          label: t('type'),
          isRequired: true,
          options: TYPES.map((value) => ({ value, label: value })),
        },
        {
          name: 'purpose',
          kind: 'choice',
          label: t('keys.purpose'),
          isRequired: true,
          hint: t('keys.purpose.hint'),
          options: PURPOSES.map((value) => ({ value, label: named('purpose', value) })),
        },
      ]}
    />
  );
}
