import { Button } from '@patternfly/react-core';
import UserCheckIcon from '@patternfly/react-icons/dist/esm/icons/user-check-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import { listSshAuthoritiesOptions, listSshLoginRulesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changeSshLoginRule, removeSshLoginRule, trySshLoginRules } from '../../api/generated/sdk.gen.js';
import type { SshLoginRuleView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { ClaimConditions } from '../../patterns/claim-conditions.js';
import { Confirm } from '../../patterns/confirm.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { type TriedCaller, type TriedVerdict, TryToken } from '../../patterns/try-token.js';
import { useAction } from '../../patterns/use-action.js';
import { EditLoginRule, minutesOf, loginRuleBodyOf } from './edit-login-rule.js';

const MAX_AUTHORITIES = 200;

type Dialog =
  | { readonly kind: 'edit'; readonly of?: SshLoginRuleView }
  | { readonly kind: 'try' }
  | { readonly kind: 'remove'; readonly of: SshLoginRuleView };

/** SshLoginRulesPage lists the rules under which callers get SSH certificates. Callers cannot choose the content. */
export function SshLoginRulesPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const canWrite = may('ssh-ca:write');
  const authorities = useQuery(listSshAuthoritiesOptions({ query: { limit: MAX_AUTHORITIES } }));
  const known = authorities.data?.items ?? [];
  const toggle = useAction(
    (of: SshLoginRuleView) =>
      changeSshLoginRule({
        path: { id: of.id },
        body: { ...loginRuleBodyOf(of), enabled: !of.enabled },
        headers: ifMatch(of.version),
      }),
    { changes: ['listSshLoginRules'], done: t('saved') },
  );
  // A rule requires a CA.
  const add = canWrite && (
    <Button isDisabled={known.length === 0} onClick={() => setDialog({ kind: 'edit' })}>
      {t('loginRules.create')}
    </Button>
  );
  return (
    <PageFrame
      title={t('nav.sshLoginRules')}
      lead={t('loginRules.lead')}
      actions={
        <>
          {add}
          <Button variant="secondary" onClick={() => setDialog({ kind: 'try' })}>
            {t('claims.try')}
          </Button>
        </>
      }
    >
      <ResourceList<SshLoginRuleView>
        name={t('nav.sshLoginRules')}
        list={(query) => listSshLoginRulesOptions({ query })}
        rowKey={({ id }) => id}
        icon={UserCheckIcon}
        emptyTitle={t('loginRules.none')}
        emptyBody={t(known.length === 0 ? 'loginRules.none.authority' : 'loginRules.none.body')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 15, cell: ({ name }) => <strong>{name}</strong> },
          { name: t('status'), cell: ({ enabled }) => <StatusLabel status={enabled ? 'ACTIVE' : 'DISABLED'} /> },
          {
            name: t('sshCa.one'),
            cell: ({ authorityId }) => (
              <Go to={`/ssh-authorities/${authorityId}`}>
                {known.find(({ id }) => id === authorityId)?.name ?? authorityId}
              </Go>
            ),
          },
          { name: t('claims.caller'), cell: ({ subject }) => named('loginSubject', subject) },
          {
            name: t('claims.conditions'),
            width: 25,
            cell: ({ conditions }) => <ClaimConditions conditions={conditions} />,
          },
          {
            name: t('sshCa.principals'),
            cell: ({ principals }) => <span className="sw-mono">{principals.join(', ')}</span>,
          },
          { name: t('loginRules.limits'), cell: (row) => <Limits of={row} /> },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              canWrite && (
                <RowActions
                  of={row.name}
                  actions={[
                    { name: t('edit'), run: () => setDialog({ kind: 'edit', of: row }) },
                    { name: t(row.enabled ? 'disable' : 'enable'), run: () => toggle.mutate(row) },
                    { name: t('remove'), run: () => setDialog({ kind: 'remove', of: row }), isDanger: true },
                  ]}
                />
              ),
          },
        ]}
      />
      {dialog?.kind === 'edit' && (
        <EditLoginRule {...dialog} authorities={known} onClose={() => setDialog(undefined)} />
      )}
      {dialog?.kind === 'try' && <TryRules onClose={() => setDialog(undefined)} />}
      {dialog?.kind === 'remove' && <RemoveRule {...dialog} onClose={() => setDialog(undefined)} />}
    </PageFrame>
  );
}

/** Limits shows the lifetime, source addresses and forced command that a rule sets. */
function Limits({ of: { lifeSeconds, bindAddress, sourceAddress, forceCommand } }: { of: SshLoginRuleView }) {
  const { t } = useI18n();
  return (
    <ul className="sw-conditions">
      <li>{t('loginRules.minutes', { count: minutesOf(lifeSeconds) })}</li>
      {bindAddress && <li>{t('loginRules.bind.yes')}</li>}
      {sourceAddress !== null && (
        <li>
          <span className="sw-muted">{t('loginRules.from')}</span> <span className="sw-mono">{sourceAddress}</span>
        </li>
      )}
      {forceCommand !== null && (
        <li>
          <span className="sw-muted">{t('loginRules.command')}</span> <span className="sw-mono">{forceCommand}</span>
        </li>
      )}
    </ul>
  );
}

function TryRules({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction(
    async (body: TriedCaller): Promise<{ data: TriedVerdict[] }> => {
      const { data } = await trySshLoginRules({ body });
      const shown = data.items.map(({ rule, principals, detail, ...verdict }) => ({
        ...rule,
        ...verdict,
        detail: detail ?? (verdict.accepted ? t('loginRules.gives', { principals: principals.join(', ') }) : ''),
      }));
      return { data: shown };
    },
    { changes: [] },
  );
  return (
    <TryToken
      lead={t('loginRules.try.lead')}
      column={t('loginRules.one')}
      none={t('loginRules.none')}
      isForPeople
      action={action}
      onClose={onClose}
    />
  );
}

function RemoveRule({ of: { id, name }, onClose }: Extract<Dialog, { kind: 'remove' }> & { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => removeSshLoginRule({ path: { id } }), {
    changes: ['listSshLoginRules'],
    done: t('removed'),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('loginRules.remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
