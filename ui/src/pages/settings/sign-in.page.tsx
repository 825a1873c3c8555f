import { Alert, Button, EmptyState, EmptyStateBody, List, ListItem } from '@patternfly/react-core';
import LockIcon from '@patternfly/react-icons/dist/esm/icons/lock-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listIdentityProvidersOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { testIdentityProvider } from '../../api/generated/sdk.gen.js';
import type { IdentityProviderTestView, IdentityProviderView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { StatusLabel } from '../../patterns/labels.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Problem } from '../../patterns/problem.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { EditProvider, RemoveProvider } from './edit-identity-provider.js';
import type { ProviderKind } from './identity-provider-fields.js';
import { ReturnedTrial, useStartTrial } from './sign-in-trial.js';

type Dialog =
  | { readonly do: 'edit'; readonly kind: ProviderKind; readonly of?: IdentityProviderView }
  | { readonly do: 'remove'; readonly of: IdentityProviderView };

/** rulesText formats role rules for lists. */
const rulesText = (rules: IdentityProviderView['rules']): string =>
  rules
    .map(({ claim, op, value, roles }) => `${claim} ${op === 'equals' ? '=' : '^='} ${value} → ${roles.join(', ')}`)
    .join('\n');

export function SignInSettingsPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const query = useQuery(listIdentityProvidersOptions());
  const canWrite = may('settings:write');
  const check = useAction((name: string) => testIdentityProvider({ path: { name } }), { changes: [] });
  const trial = useStartTrial();
  const add = (kind: ProviderKind) => (
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
      <ReturnedTrial />
      {[check, trial].map(({ error }) => error && <Problem key={error.message} error={error} />)}
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
          {
            name: t('sso.redirectUri'),
            cell: ({ kind, redirect }) => (kind === 'oidc' ? t(`sso.redirect.${redirect}`) : '–'),
          },
          { name: t('sso.rules'), width: 35, cell: ({ rules }) => <span className="sw-mono">{rulesText(rules)}</span> },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) => (
              <RowActions
                of={row.label}
                actions={[
                  canWrite && { name: t('sso.check'), run: () => check.mutate(row.name) },
                  canWrite && { name: t('sso.test'), run: () => trial.mutate(row.name) },
                  canWrite && { name: t('edit'), run: () => setDialog({ do: 'edit', kind: row.kind, of: row }) },
                  canWrite && { name: t('remove'), run: () => setDialog({ do: 'remove', of: row }), isDanger: true },
                ]}
              />
            ),
          },
        ]}
      />
      {dialog?.do === 'edit' && <EditProvider {...dialog} onClose={() => setDialog(undefined)} />}
      {dialog?.do === 'remove' && <RemoveProvider of={dialog.of} onClose={() => setDialog(undefined)} />}
    </PageFrame>
  );
}

/** Findings shows the results of the settings check. */
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
            <strong>{check}</strong> {t(isRight ? 'sso.check.valid' : 'sso.check.invalid')}: {detail}
          </ListItem>
        ))}
      </List>
    </Alert>
  );
}
