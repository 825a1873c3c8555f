import { Alert, Button, EmptyState, EmptyStateBody, List, ListItem } from '@patternfly/react-core';
import LockIcon from '@patternfly/react-icons/dist/esm/icons/lock-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listIdentityProvidersOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import {
  putOidcProvider,
  putSamlProvider,
  removeIdentityProvider,
  testIdentityProvider,
} from '../../api/generated/sdk.gen.js';
import type { IdentityProviderTestView, IdentityProviderView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { DataTable } from '../../patterns/data-table.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { type Field, textOf, type Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Problem } from '../../patterns/problem.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';

type Kind = IdentityProviderView['kind'];
type Dialog =
  | { readonly do: 'edit'; readonly kind: Kind; readonly of?: IdentityProviderView }
  | { readonly do: 'remove'; readonly of: IdentityProviderView };

const ARROW = '->';

/** `groups = admins -> admin, operator` for each line; `^=` compares the beginning. */
function rulesOf(text: unknown): { claim: string; op: string; value: string; roles: string[] }[] {
  const lines = Array.isArray(text) ? (text as string[]) : [];
  return lines.flatMap((line) => {
    const [equals, arrow] = [line.indexOf('='), line.indexOf(ARROW, line.indexOf('=') + 1)];
    const op = line[equals - 1] === '^' ? 'prefix' : 'equals';
    const claim = line.slice(0, Math.max(0, op === 'prefix' ? equals - 1 : equals)).trim();
    const value = line.slice(equals + 1, arrow).trim();
    const roles = line.slice(arrow + ARROW.length).trim();
    return equals < 0 || arrow < 0 || claim === '' || /\s/.test(claim) || value === '' || roles === ''
      ? []
      : [{ claim, op, value, roles: roles.split(',').map((role) => role.trim()) }];
  });
}

const rulesText = (rules: IdentityProviderView['rules']): string =>
  rules
    .map(({ claim, op, value, roles }) => `${claim} ${op === 'equals' ? '=' : '^='} ${value} -> ${roles.join(', ')}`)
    .join('\n');

export function SignInSettingsPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const query = useQuery(listIdentityProvidersOptions());
  const canWrite = may('settings:write');
  const check = useAction((name: string) => testIdentityProvider({ path: { name } }), { changes: [] });
  const add = (kind: Kind) => (
    <Button variant={kind === 'oidc' ? 'primary' : 'secondary'} onClick={() => setDialog({ do: 'edit', kind })}>
      {t(`sso.add.${kind}`)}
    </Button>
  );
  const buttons = canWrite && (
    <>
      {add('oidc')}
      {add('saml')}
    </>
  );
  return (
    <PageFrame title={t('nav.sso')} lead={t('sso.lead')} actions={buttons}>
      {check.error && <Problem error={check.error} />}
      {check.data !== undefined && <Findings of={check.data} />}
      <DataTable<IdentityProviderView>
        name={t('nav.sso')}
        query={query}
        rowKey={({ name }) => name}
        empty={
          <EmptyState headingLevel="h2" titleText={t('sso.none')} icon={LockIcon}>
            <EmptyStateBody>{t('sso.none.body')}</EmptyStateBody>
          </EmptyState>
        }
        columns={[
          { name: t('sso.label'), width: 25, cell: ({ label }) => <strong>{label}</strong> },
          { name: t('type'), cell: ({ kind }) => (kind === 'oidc' ? t('sso.oidc') : t('sso.saml')) },
          { name: t('status'), cell: ({ enabled }) => <StatusLabel status={enabled ? 'ACTIVE' : 'DISABLED'} /> },
          { name: t('sso.rules'), width: 35, cell: ({ rules }) => <span className="sw-mono">{rulesText(rules)}</span> },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) => (
              <RowActions
                of={row.label}
                actions={[
                  canWrite && { name: t('sso.check'), run: () => check.mutate(row.name) },
                  {
                    name: t('sso.test'),
                    run: () =>
                      window.open(
                        `/api/auth/${row.kind}/login?provider=${row.name}&returnTo=/&answer=cookie`,
                        '_blank',
                        'noopener',
                      ),
                  },
                  canWrite && { name: t('edit'), run: () => setDialog({ do: 'edit', kind: row.kind, of: row }) },
                  canWrite && { name: t('remove'), run: () => setDialog({ do: 'remove', of: row }), isDanger: true },
                ]}
              />
            ),
          },
        ]}
      />
      {dialog?.do === 'edit' && <Edit {...dialog} onClose={() => setDialog(undefined)} />}
      {dialog?.do === 'remove' && <Remove of={dialog.of} onClose={() => setDialog(undefined)} />}
    </PageFrame>
  );
}

/** Checks of the settings and their results. */
function Findings({ of: { ok, findings } }: { of: IdentityProviderTestView }) {
  const { t } = useI18n();
  return (
    <Alert
      component="h2"
      isInline
      role="status"
      variant={ok ? 'success' : 'danger'}
      title={t(ok ? 'sso.check.ok' : 'sso.check.failed')}
    >
      <List>
        {findings.map(({ check, ok: isRight, detail }) => (
          <ListItem key={`${check} ${detail}`}>
            <strong>{check}</strong> {t(isRight ? 'sso.check.right' : 'sso.check.wrong')}: {detail}
          </ListItem>
        ))}
      </List>
    </Alert>
  );
}

function useFields(kind: Kind, of: IdentityProviderView | undefined): Field[] {
  const { t } = useI18n();
  const settings = (of?.settings ?? {}) as Readonly<Record<string, unknown>>;
  const text = (name: string): string => (typeof settings[name] === 'string' ? settings[name] : '');
  const lines = (name: string): string =>
    Array.isArray(settings[name]) ? (settings[name] as string[]).join('\n') : '';
  return [
    ...(of === undefined ? [{ name: 'name', label: t('sso.name'), isRequired: true, hint: t('sso.name.hint') }] : []),
    { name: 'label', label: t('sso.label'), isRequired: true, value: of?.label ?? '' },
    ...(kind === 'oidc'
      ? ([
          { name: 'issuer', kind: 'url', label: t('sso.issuer'), isRequired: true, value: text('issuer') },
          { name: 'clientId', label: t('sso.clientId'), isRequired: true, value: text('clientId') },
          {
            name: 'clientSecret',
            kind: 'password',
            label: t('sso.clientSecret'),
            isRequired: of === undefined,
            ...(of === undefined ? {} : { hint: t('sso.clientSecret.keep') }),
          },
        ] satisfies Field[])
      : ([
          { name: 'entityId', label: t('sso.entityId'), isRequired: true, value: text('entityId') },
          { name: 'entryPoint', kind: 'url', label: t('sso.entryPoint'), isRequired: true, value: text('entryPoint') },
          {
            name: 'certificates',
            kind: 'area',
            label: t('sso.certificate'),
            isRequired: true,
            value: lines('certificates'),
          },
        ] satisfies Field[])),
    {
      name: 'rules',
      kind: 'lines',
      label: t('sso.rules'),
      hint: t('sso.rules.hint'),
      value: of === undefined ? '' : rulesText(of.rules),
    },
    { name: 'enabled', kind: 'yes', label: t('sso.enabled'), value: of?.enabled ?? true },
  ];
}

function Edit({ kind, of, onClose }: { kind: Kind; of?: IdentityProviderView; onClose: () => void }) {
  const { t } = useI18n();
  const fields = useFields(kind, of);
  const action = useAction(
    async ({ name: typed, rules, certificates, ...rest }: Values): Promise<{ data: unknown }> => {
      const path = { name: of?.name ?? textOf(typed) };
      const pems = textOf(certificates).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
      const body = {
        ...rest,
        rules: rulesOf(rules),
        ...(kind === 'saml' ? { certificates: pems ?? [] } : {}),
      } as never;
      return kind === 'oidc' ? putOidcProvider({ path, body }) : putSamlProvider({ path, body });
    },
    { changes: ['listIdentityProviders'], done: t('saved') },
  );
  return (
    <FormDialog
      title={of?.label ?? t(`sso.add.${kind}`)}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={fields}
    />
  );
}

function Remove({ of: { name, label }, onClose }: { of: IdentityProviderView; onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => removeIdentityProvider({ path: { name } }), {
    changes: ['listIdentityProviders'],
    done: t('removed'),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('sso.remove.lead', { name: label })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
