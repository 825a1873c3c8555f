import { Button, Stack, StackItem, Title } from '@patternfly/react-core';
import GavelIcon from '@patternfly/react-icons/dist/esm/icons/gavel-icon';
import UsersIcon from '@patternfly/react-icons/dist/esm/icons/users-icon';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import {
  listApprovalPoliciesOptions,
  listApproverGroupsOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import { removeApprovalPolicy, removeApproverGroup } from '../../api/generated/sdk.gen.js';
import type { ApprovalPolicyView, ApproverGroupView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import type { Values } from '../../patterns/form-fields.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { People } from '../../patterns/person.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { hoursOf } from '../../patterns/whole-hours.js';
import { EditGroup } from './edit-group.js';
import { EditPolicy } from './edit-policy.js';
import { PolicyConditions } from './policy-conditions.js';
import { PolicyWarnings } from './policy-warnings.js';

type Dialog =
  | { readonly kind: 'policy'; readonly of?: ApprovalPolicyView }
  | { readonly kind: 'group'; readonly of?: ApproverGroupView }
  | {
      readonly kind: 'remove';
      readonly what: 'policy' | 'group';
      readonly of: { readonly id: string; readonly name: string };
    };

export function PoliciesPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const groups = useQuery(listApproverGroupsOptions({ query: { limit: 200 } }));
  const canWrite = may('approvals:write');
  // A policy requires a group.
  const addPolicy = canWrite && (
    <Button isDisabled={groups.data?.items.length === 0} onClick={() => setDialog({ kind: 'policy' })}>
      {t('policies.create')}
    </Button>
  );
  const addGroup = canWrite && (
    <Button variant="secondary" onClick={() => setDialog({ kind: 'group' })}>
      {t('groups.create')}
    </Button>
  );
  const menu: Menu = (name, edit, remove) =>
    canWrite && (
      <RowActions
        of={name}
        actions={[
          { name: t('edit'), run: () => setDialog(edit) },
          { name: t('remove'), run: () => setDialog(remove), isDanger: true },
        ]}
      />
    );
  return (
    <PageFrame
      title={t('nav.policies')}
      lead={t('policies.lead')}
      actions={
        canWrite && (
          <>
            {addPolicy}
            {addGroup}
          </>
        )
      }
    >
      <Stack hasGutter>
        <StackItem>
          <Policies groups={groups.data?.items ?? []} menu={menu} />
        </StackItem>
        <StackItem>
          <Title headingLevel="h2">{t('groups')}</Title>
          <Groups menu={menu} />
        </StackItem>
      </Stack>
      {dialog?.kind === 'policy' && (
        <EditPolicy {...dialog} groups={groups.data?.items ?? []} onClose={() => setDialog(undefined)} />
      )}
      {dialog?.kind === 'group' && <EditGroup {...dialog} onClose={() => setDialog(undefined)} />}
      {dialog?.kind === 'remove' && <Remove {...dialog} onClose={() => setDialog(undefined)} />}
    </PageFrame>
  );
}

type Menu = (name: string, edit: Dialog, remove: Dialog) => ReactNode;

function Policies({ groups, menu }: { groups: readonly ApproverGroupView[]; menu: Menu }) {
  const { t, named, language } = useI18n();
  const nameOf = (id: string) => groups.find((group) => group.id === id)?.name ?? id;
  return (
    <ResourceList<ApprovalPolicyView>
      name={t('nav.policies')}
      list={(query) => listApprovalPoliciesOptions({ query })}
      rowKey={({ id }) => id}
      icon={GavelIcon}
      emptyTitle={t('policies.none')}
      emptyBody={t('policies.none.body')}
      columns={[
        { name: t('name'), width: 15, cell: ({ name }) => <strong>{name}</strong> },
        { name: t('policies.subject'), cell: ({ subject }) => named('subject', subject) },
        { name: t('policies.keys'), cell: (row) => <Keys policy={row} /> },
        {
          name: t('policies.stages'),
          width: 20,
          cell: ({ stages }) =>
            stages.map(({ threshold, group }) => t('policies.stage', { threshold, group: nameOf(group) })).join(' → '),
        },
        { name: t('policies.applies'), width: 30, cell: (row) => <Applies policy={row} /> },
        { name: t('policies.hours'), cell: ({ expiresInSeconds }) => hoursOf(expiresInSeconds, language) },
        {
          name: t('actions'),
          isAction: true,
          cell: (row) => menu(row.name, { kind: 'policy', of: row }, { kind: 'remove', what: 'policy', of: row }),
        },
      ]}
    />
  );
}

/** Applies shows the conditions of a policy and how callers can bypass it. */
function Applies({ policy }: { policy: ApprovalPolicyView }) {
  return (
    <>
      <PolicyConditions policy={policy} />
      <PolicyWarnings warnings={policy.warnings} />
    </>
  );
}

/** Keys shows the key patterns of a policy and, if keys were replaced, the keys it currently covers. */
function Keys({ policy: { keys, coveredKeys } }: { policy: ApprovalPolicyView }) {
  const { t } = useI18n();
  const isSame = coveredKeys.length === keys.length && coveredKeys.every((key) => keys.includes(key));
  return (
    <>
      <div>{keys.map((key) => (key === '*' ? t('policies.keys.all') : key)).join(', ')}</div>
      {!isSame && <div className="sw-muted">{t('policies.covers', { keys: coveredKeys.join(', ') || '—' })}</div>}
    </>
  );
}

function Groups({ menu }: { menu: Menu }) {
  const { t } = useI18n();
  return (
    <ResourceList<ApproverGroupView>
      name={t('groups')}
      list={() => listApproverGroupsOptions({ query: { limit: 200 } })}
      rowKey={({ id }) => id}
      icon={UsersIcon}
      emptyTitle={t('groups.none')}
      emptyBody={t('groups.none.body')}
      columns={[
        { name: t('name'), width: 30, cell: ({ name }) => <strong>{name}</strong> },
        {
          name: t('groups.members'),
          width: 50,
          cell: ({ members, ssoGroups }) => (
            <>
              <People ids={members} />
              {ssoGroups.map(({ provider, group }) => (
                <div key={`${provider} ${group}`}>{t('groups.sso.line', { provider, group })}</div>
              ))}
            </>
          ),
        },
        {
          name: t('actions'),
          isAction: true,
          cell: (row) => menu(row.name, { kind: 'group', of: row }, { kind: 'remove', what: 'group', of: row }),
        },
      ]}
    />
  );
}

function Remove({ what, of: { id, name }, onClose }: Extract<Dialog, { kind: 'remove' }> & { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction(
    (_values: Values): Promise<{ data: unknown }> =>
      what === 'policy' ? removeApprovalPolicy({ path: { id } }) : removeApproverGroup({ path: { id } }),
    { changes: ['listApprovalPolicies', 'listApproverGroups'], done: t('removed') },
  );
  return (
    <Confirm
      title={t('remove')}
      lead={t('remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
