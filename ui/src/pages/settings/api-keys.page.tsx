import { Button, HelperText, HelperTextItem, Label, LabelGroup } from '@patternfly/react-core';
import KeyIcon from '@patternfly/react-icons/dist/esm/icons/key-icon';
import { useState } from 'react';
import { listApiKeysOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { ifMatch } from '../../api/client.js';
import { changeApiKey, createApiKey, revokeApiKey, rotateApiKey } from '../../api/generated/sdk.gen.js';
import type { ApiKeyView, NewApiKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { SecretOnce } from '../../patterns/secret-once.js';
import { useAction } from '../../patterns/use-action.js';
import { useScopeOptions } from './scopes.js';

const CHANGES = { changes: ['listApiKeys'] };
const DAY = 86_400_000;
export const inDays = (days: number) => new Date(Date.now() + days * DAY).toISOString().slice(0, 10);

export function Scopes({ scopes }: { scopes: readonly string[] }) {
  const { t } = useI18n();
  return (
    <LabelGroup numLabels={3} aria-label={t('scopes')}>
      {scopes.map((scope) => (
        <Label key={scope} isCompact variant="outline">
          {scope}
        </Label>
      ))}
    </LabelGroup>
  );
}

/** GrantedScopes shows the permissions of a credential, and which of them have no effect. */
export function GrantedScopes({
  scopes,
  withoutEffect,
}: {
  scopes: readonly string[];
  withoutEffect: readonly string[];
}) {
  const { t } = useI18n();
  return (
    <>
      <Scopes scopes={scopes} />
      {withoutEffect.length > 0 && (
        <HelperText>
          <HelperTextItem variant="warning">
            {t('scopes.withoutEffect', { scopes: withoutEffect.join(', ') })}
          </HelperTextItem>
        </HelperText>
      )}
    </>
  );
}

/** GrantedKeys shows the signing keys that a credential can use; null means every key. */
export function GrantedKeys({ keys }: { keys: readonly string[] | null }) {
  const { t } = useI18n();
  return <>{keys === null ? t('policies.keys.all') : keys.join(', ') || '–'}</>;
}

/** keysField returns the form field for the signing keys of a credential. */
export function keysField(
  { t }: Pick<ReturnType<typeof useI18n>, 't'>,
  name: string,
  keys: readonly string[] | null,
): Field {
  const value = (keys ?? []).join('\n');
  return { name, kind: 'lines', label: t('grantedKeys'), hint: t('grantedKeys.hint'), value };
}

export function stateOf({ revokedAt, expiry }: { revokedAt: string | null; expiry?: string }): string {
  if (revokedAt !== null) return 'REVOKED';
  return expiry !== undefined && Date.parse(expiry) < Date.now() ? 'EXPIRED' : 'ACTIVE';
}

/** timestampAddress returns a URL with the key, for timestamp clients that cannot send headers. It works only for keys with no other permission. */
function timestampAddress({ key }: NewApiKeyView, label: string): [string, string] {
  return [label, `${window.location.origin}/tsa/${key}`];
}

function isForTimestamps({ permissions }: NewApiKeyView): boolean {
  return permissions.length === 1 && permissions[0] === 'timestamps:issue';
}

export function ApiKeysPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<{ kind: 'create' } | { kind: 'edit' | 'rotate' | 'revoke'; of: ApiKeyView }>();
  const [made, setMade] = useState<NewApiKeyView>();
  const close = () => setDialog(undefined);
  const create = may('settings:write') && (
    <Button onClick={() => setDialog({ kind: 'create' })}>{t('apiKeys.create')}</Button>
  );
  return (
    <PageFrame title={t('nav.apiKeys')} lead={t('apiKeys.lead')} actions={create}>
      <ResourceList<ApiKeyView>
        name={t('nav.apiKeys')}
        list={(query) => listApiKeysOptions({ query })}
        rowKey={({ id }) => id}
        icon={KeyIcon}
        emptyTitle={t('apiKeys.none')}
        emptyAction={create}
        columns={[
          { name: t('name'), width: 20, cell: ({ name }) => <strong>{name}</strong> },
          { name: t('status'), cell: (row) => <StatusLabel status={stateOf(row)} /> },
          {
            name: t('scopes'),
            width: 30,
            cell: ({ permissions, withoutEffect }) => (
              <GrantedScopes scopes={permissions} withoutEffect={withoutEffect} />
            ),
          },
          { name: t('grantedKeys'), cell: ({ keys }) => <GrantedKeys keys={keys} /> },
          { name: t('apiKeys.expiry'), cell: ({ expiry }) => <Day at={expiry} /> },
          { name: t('lastUsed'), cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) => (
              <RowActions
                of={row.name}
                actions={[
                  may('settings:write') &&
                    row.revokedAt === null && {
                      name: t('edit'),
                      run: () => setDialog({ kind: 'edit', of: row }),
                    },
                  may('settings:write') &&
                    stateOf(row) === 'ACTIVE' && {
                      name: t('apiKeys.rotate'),
                      run: () => setDialog({ kind: 'rotate', of: row }),
                    },
                  may('settings:write') &&
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
      {dialog?.kind === 'create' && <Create onClose={close} onMade={setMade} />}
      {dialog?.kind === 'edit' && <Edit of={dialog.of} onClose={close} />}
      {dialog?.kind === 'rotate' && <Rotate of={dialog.of} onClose={close} onMade={setMade} />}
      {dialog?.kind === 'revoke' && <Revoke of={dialog.of} onClose={close} />}
      {made !== undefined && (
        <SecretOnce
          title={made.name}
          secrets={[
            [t('nav.apiKey'), made.key],
            ...(isForTimestamps(made) ? [timestampAddress(made, t('apiKeys.timestampAddress'))] : []),
          ]}
          onClose={() => setMade(undefined)}
        />
      )}
    </PageFrame>
  );
}

interface DialogProps {
  readonly onClose: () => void;
  readonly onMade: (key: NewApiKeyView) => void;
}

function Create({ onClose, onMade }: DialogProps) {
  const i18n = useI18n();
  const { t } = i18n;
  // Only people can vote: the service rejects this scope for keys.
  const scopes = useScopeOptions().filter(({ value }) => value !== 'approvals:approve');
  const action = useAction((values: Values, once) => createApiKey({ body: values as never, headers: once }), {
    ...CHANGES,
    onDone: onMade,
  });
  return (
    <FormDialog
      title={t('apiKeys.create')}
      lead={t('apiKeys.create.lead')}
      submit={t('create')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, hint: t('apiKeys.name.hint') },
        { name: 'permissions', kind: 'choices', label: t('scopes'), isRequired: true, options: scopes },
        keysField(i18n, 'keys', null),
        { name: 'expiry', kind: 'day', label: t('apiKeys.expiry'), isRequired: true, value: inDays(90) },
        { name: 'addresses', kind: 'lines', label: t('apiKeys.addresses'), hint: t('apiKeys.addresses.hint') },
      ]}
    />
  );
}

function Edit({ of, onClose }: { of: ApiKeyView; onClose: () => void }) {
  const i18n = useI18n();
  const { t } = i18n;
  const action = useAction(
    ({ name, keys, addresses }: Values) =>
      changeApiKey({
        path: { id: of.id },
        body: { name, keys: keys ?? null, addresses: addresses ?? null } as never,
        headers: ifMatch(of.version),
      }),
    { ...CHANGES, done: t('saved') },
  );
  const addresses = (of.addresses ?? []).join('\n');
  const hint = t('apiKeys.addresses.hint');
  return (
    <FormDialog
      title={t('apiKeys.edit')}
      lead={t('apiKeys.edit.lead')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, hint: t('apiKeys.name.hint'), value: of.name },
        keysField(i18n, 'keys', of.keys),
        { name: 'addresses', kind: 'lines', label: t('apiKeys.addresses'), hint, value: addresses },
      ]}
    />
  );
}

function Rotate({ of, onClose, onMade }: DialogProps & { of: ApiKeyView }) {
  const { t } = useI18n();
  const action = useAction((values: Values) => rotateApiKey({ path: { id: of.id }, body: values as never }), {
    ...CHANGES,
    onDone: onMade,
  });
  return (
    <FormDialog
      title={t('apiKeys.rotate')}
      lead={t('apiKeys.rotate.lead', { name: of.name })}
      submit={t('apiKeys.rotate')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'expiry', kind: 'day', label: t('apiKeys.expiry'), isRequired: true, value: inDays(90) },
        { name: 'overlapHours', kind: 'number', label: t('apiKeys.overlap'), value: 24, min: 0, max: 168 },
      ]}
    />
  );
}

function Revoke({ of: { id, name }, onClose }: { of: ApiKeyView; onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => revokeApiKey({ path: { id } }), { ...CHANGES, done: t('revoked') });
  return (
    <Confirm
      title={t('revoke')}
      lead={t('apiKeys.revoke.lead', { name })}
      submit={t('revoke')}
      action={action}
      onClose={onClose}
    />
  );
}
