import { Button } from '@patternfly/react-core';
import RobotIcon from '@patternfly/react-icons/dist/esm/icons/robot-icon';
import { useState } from 'react';
import { listOAuthClientsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { ifMatch } from '../../api/client.js';
import {
  changeOAuthClient,
  createOAuthClient,
  replaceOAuthClientCertificates,
  replaceOAuthClientSecret,
  revokeOAuthClient,
} from '../../api/generated/sdk.gen.js';
import type { NewOAuthClientView, OAuthClientView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Copyable } from '../../patterns/copyable.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { SecretOnce } from '../../patterns/secret-once.js';
import { useAction } from '../../patterns/use-action.js';
import { GrantedKeys, GrantedScopes, keysField, stateOf } from './api-keys.page.js';
import { certificateFields, certificateMembers, isByCertificate, methodField } from './client-certificates.js';
import { useScopeOptions } from './scopes.js';

const CHANGES = { changes: ['listOAuthClients'] };

interface Dialog {
  readonly kind: 'create' | 'edit' | 'secret' | 'certificates' | 'revoke';
  readonly of?: OAuthClientView;
}

export function OAuthClientsPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const canWrite = may('settings:write');
  const [made, setMade] = useState<NewOAuthClientView>();
  const add = canWrite && <Button onClick={() => setDialog({ kind: 'create' })}>{t('clients.create')}</Button>;
  return (
    <PageFrame title={t('nav.oauthClients')} lead={t('clients.lead')} actions={add}>
      <ResourceList<OAuthClientView>
        name={t('nav.oauthClients')}
        list={(query) => listOAuthClientsOptions({ query })}
        rowKey={({ client_id }) => client_id}
        icon={RobotIcon}
        emptyTitle={t('clients.none')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 20, cell: ({ name }) => <strong>{name}</strong> },
          { name: t('status'), cell: (row) => <StatusLabel status={stateOf(row)} /> },
          { name: t('clients.id'), cell: ({ client_id }) => <Copyable text={client_id} /> },
          {
            name: t('clients.method'),
            cell: ({ token_endpoint_auth_method: method }) => named('clientMethod', method),
          },
          {
            name: t('scopes'),
            width: 30,
            cell: ({ permissions, withoutEffect }) => (
              <GrantedScopes scopes={permissions} withoutEffect={withoutEffect} />
            ),
          },
          { name: t('grantedKeys'), cell: ({ signingKeys }) => <GrantedKeys keys={signingKeys} /> },
          { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) => (
              <RowActions
                of={row.name}
                actions={[
                  canWrite &&
                    row.revokedAt === null && {
                      name: t('edit'),
                      run: () => setDialog({ kind: 'edit', of: row }),
                    },
                  canWrite &&
                    row.revokedAt === null &&
                    row.token_endpoint_auth_method === 'client_secret_basic' && {
                      name: t('clients.secret'),
                      run: () => setDialog({ kind: 'secret', of: row }),
                    },
                  canWrite &&
                    row.revokedAt === null &&
                    isByCertificate(row) && {
                      name: t('clients.certificates.replace'),
                      run: () => setDialog({ kind: 'certificates', of: row }),
                    },
                  canWrite &&
                    row.revokedAt === null && {
                      name: t('revoke'),
                      run: () => setDialog({ kind: 'revoke', of: row }),
                      isDanger: true,
                    },
                ]}
              />
            ),
          },
        ]}
      />
      {dialog !== undefined && <ClientDialog {...dialog} onClose={() => setDialog(undefined)} onMade={setMade} />}
      {made?.client_secret !== undefined && (
        <SecretOnce
          title={made.name}
          secrets={[
            [t('clients.id'), made.client_id],
            [t('clients.theSecret'), made.client_secret],
          ]}
          onClose={() => setMade(undefined)}
        />
      )}
    </PageFrame>
  );
}

interface DialogProps extends Dialog {
  readonly onClose: () => void;
  readonly onMade: (client: NewOAuthClientView) => void;
}

function ClientDialog({ kind, of, onClose, onMade }: DialogProps) {
  const { t } = useI18n();
  const path = { id: of?.client_id ?? '' };
  const name = of?.name ?? '';
  const renew = useAction((_values: Values) => replaceOAuthClientSecret({ path }), { ...CHANGES, onDone: onMade });
  const revoke = useAction((_values: Values) => revokeOAuthClient({ path }), { ...CHANGES, done: t('revoked') });
  if (kind === 'revoke') {
    const lead = t('clients.revoke.lead', { name });
    return <Confirm title={t('revoke')} lead={lead} submit={t('revoke')} action={revoke} onClose={onClose} />;
  }
  if (kind === 'secret') {
    const lead = t('clients.secret.lead', { name });
    return (
      <Confirm title={t('clients.secret')} lead={lead} submit={t('clients.secret')} action={renew} onClose={onClose} />
    );
  }
  if (kind === 'edit' && of !== undefined) return <EditClient of={of} onClose={onClose} />;
  if (kind === 'certificates' && of !== undefined) return <ReplaceCertificates of={of} onClose={onClose} />;
  return <NewClient onClose={onClose} onMade={onMade} />;
}

function EditClient({ of, onClose }: { readonly of: OAuthClientView; readonly onClose: () => void }) {
  const i18n = useI18n();
  const { t } = i18n;
  const path = { id: of.client_id };
  const action = useAction(
    ({ name, signingKeys }: Values) =>
      changeOAuthClient({
        path,
        body: { name, signingKeys: signingKeys ?? null } as never,
        headers: ifMatch(of.version),
      }),
    { ...CHANGES, done: t('saved') },
  );
  return (
    <FormDialog
      title={t('clients.edit')}
      lead={t('clients.edit.lead')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, value: of.name },
        keysField(i18n, 'signingKeys', of.signingKeys),
      ]}
    />
  );
}

function ReplaceCertificates({ of, onClose }: { readonly of: OAuthClientView; readonly onClose: () => void }) {
  const i18n = useI18n();
  const { t } = i18n;
  const path = { id: of.client_id };
  const action = useAction(
    (values: Values) => replaceOAuthClientCertificates({ path, body: certificateMembers(values) }),
    { ...CHANGES, done: t('saved') },
  );
  return (
    <FormDialog
      title={t('clients.certificates.replace')}
      lead={t('clients.certificates.replace.lead', { name: of.name })}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={certificateFields(i18n, () => of.token_endpoint_auth_method)}
    />
  );
}

function NewClient({ onClose, onMade }: Pick<DialogProps, 'onClose' | 'onMade'>) {
  const i18n = useI18n();
  const { t, named } = i18n;
  const scopes = useScopeOptions();
  const action = useAction(
    ({ name, type, permissions, signingKeys, method, ...values }: Values, once) => {
      const chosen = method === undefined ? {} : { token_endpoint_auth_method: method };
      const body = { name, type, permissions, signingKeys, ...chosen, ...certificateMembers(values) };
      return createOAuthClient({ body: body as never, headers: once });
    },
    { ...CHANGES, onDone: onMade },
  );
  return (
    <FormDialog
      title={t('clients.create')}
      submit={t('create')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true },
        {
          name: 'type',
          kind: 'choice',
          label: t('type'),
          isRequired: true,
          hint: t('clients.type.hint'),
          options: ['confidential', 'public'].map((value) => ({ value, label: named('client', value) })),
        },
        methodField(i18n),
        ...certificateFields(i18n, ({ type, method }) => (type === 'confidential' ? method : undefined)),
        { name: 'permissions', kind: 'choices', label: t('scopes'), isRequired: true, options: scopes },
        keysField(i18n, 'signingKeys', null),
      ]}
    />
  );
}
