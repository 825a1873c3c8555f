import { Button, Stack, StackItem, Title } from '@patternfly/react-core';
import GavelIcon from '@patternfly/react-icons/dist/esm/icons/gavel-icon';
import UsersIcon from '@patternfly/react-icons/dist/esm/icons/users-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import {
  listApprovalPoliciesOptions,
  listApproverGroupsOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import {
  changeApprovalPolicy,
  changeApproverGroup,
  createApprovalPolicy,
  createApproverGroup,
  removeApprovalPolicy,
  removeApproverGroup,
} from '../../api/generated/sdk.gen.js';
import type { ApprovalPolicyView, ApproverGroupView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { People, useUsers } from '../../patterns/person.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { hoursOf, secondsOf, wholeHours } from '../../patterns/whole-hours.js';

const DAY = 24 * 3600;
const SUBJECTS: readonly ApprovalPolicyView['subject'][] = ['signing-request', 'ssh-rotation', 'ssh-certificate'];

type Dialog =
  | { readonly kind: 'policy'; readonly of?: ApprovalPolicyView }
  | { readonly kind: 'group'; readonly of?: ApproverGroupView }
  | {
      readonly kind: 'remove';
      readonly what: 'policy' | 'group';
      readonly of: { readonly id: string; readonly name: string };
    };

export function PoliciesPage() {
  const { t, named, language } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const groups = useQuery(listApproverGroupsOptions({ query: { limit: 200 } }));
  const nameOf = (id: string) => groups.data?.items.find((group) => group.id === id)?.name ?? id;
  const canWrite = may('approvals:write');
  // A stage names a group.
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
  const stagesOf = ({ stages }: ApprovalPolicyView) =>
    stages.map(({ threshold, group }) => t('policies.stage', { threshold, group: nameOf(group) })).join(' → ');
  const menu = (name: string, edit: Dialog, remove: Dialog) =>
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
          <ResourceList<ApprovalPolicyView>
            name={t('nav.policies')}
            list={(query) => listApprovalPoliciesOptions({ query })}
            rowKey={({ id }) => id}
            icon={GavelIcon}
            emptyTitle={t('policies.none')}
            emptyBody={t('policies.none.body')}
            columns={[
              { name: t('name'), width: 20, cell: ({ name }) => <strong>{name}</strong> },
              { name: t('policies.subject'), cell: ({ subject }) => named('subject', subject) },
              { name: t('policies.keys'), cell: ({ keys }) => keys.join(', ') },
              { name: t('policies.stages'), width: 35, cell: stagesOf },
              { name: t('policies.hours'), cell: ({ expiresInSeconds }) => hoursOf(expiresInSeconds, language) },
              {
                name: t('actions'),
                isAction: true,
                cell: (row) => menu(row.name, { kind: 'policy', of: row }, { kind: 'remove', what: 'policy', of: row }),
              },
            ]}
          />
        </StackItem>
        <StackItem>
          <Title headingLevel="h2">{t('groups')}</Title>
          <ResourceList<ApproverGroupView>
            name={t('groups')}
            list={() => listApproverGroupsOptions({ query: { limit: 200 } })}
            rowKey={({ id }) => id}
            icon={UsersIcon}
            emptyTitle={t('groups.none')}
            emptyBody={t('groups.none.body')}
            columns={[
              { name: t('name'), width: 30, cell: ({ name }) => <strong>{name}</strong> },
              { name: t('groups.members'), width: 50, cell: ({ members }) => <People ids={members} /> },
              {
                name: t('actions'),
                isAction: true,
                cell: (row) => menu(row.name, { kind: 'group', of: row }, { kind: 'remove', what: 'group', of: row }),
              },
            ]}
          />
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

interface EditPolicyProps {
  readonly of?: ApprovalPolicyView;
  readonly groups: readonly ApproverGroupView[];
  readonly onClose: () => void;
}

function EditPolicy({ of, groups, onClose }: EditPolicyProps) {
  const { t, named } = useI18n();
  const nameOf = (id: string) => groups.find((group) => group.id === id)?.name ?? id;
  const action = useAction(
    async ({ hours, ...rest }: Values, once): Promise<{ data: unknown }> => {
      const body = {
        ...rest,
        ...(hours === undefined ? {} : { expiresInSeconds: secondsOf(Number(hours), of?.expiresInSeconds) }),
        ...(of === undefined
          ? {}
          : { conditions: of.conditions, unless: of.unless, rejectThreshold: of.rejectThreshold }),
      } as never;
      return of === undefined
        ? createApprovalPolicy({ body, headers: once })
        : changeApprovalPolicy({ path: { id: of.id }, body, headers: ifMatch(of.version) });
    },
    { changes: ['listApprovalPolicies'], done: t('saved') },
  );
  const stages = of?.stages.map(({ threshold, group }) => ({ threshold: String(threshold), group: nameOf(group) }));
  return (
    <FormDialog
      title={of?.name ?? t('policies.create')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '' },
        {
          name: 'subject',
          kind: 'choice',
          label: t('policies.subject'),
          isRequired: true,
          options: SUBJECTS.map((value) => ({ value, label: named('subject', value) })),
          value: of?.subject ?? 'signing-request',
        },
        {
          name: 'keys',
          kind: 'lines',
          label: t('policies.keys'),
          isRequired: true,
          hint: t('policies.keys.hint'),
          value: of?.keys.join('\n') ?? '',
        },
        {
          name: 'stages',
          kind: 'rows',
          label: t('policies.stages'),
          isRequired: true,
          hint: t('policies.stages.hint'),
          add: t('policies.stages.add'),
          columns: [
            { name: 'threshold', label: t('policies.threshold'), kind: 'number' },
            {
              name: 'group',
              label: t('policies.group'),
              options: groups.map(({ name }) => ({ value: name, label: name })),
            },
          ],
          ...(stages === undefined ? {} : { value: stages }),
        },
        {
          name: 'hours',
          kind: 'number',
          label: t('policies.hours'),
          min: 1,
          value: wholeHours(of?.expiresInSeconds ?? DAY),
        },
        { name: 'commentRequired', kind: 'yes', label: t('policies.comment'), value: of?.commentRequired ?? false },
      ]}
    />
  );
}

function EditGroup({ of, onClose }: { of?: ApproverGroupView; onClose: () => void }) {
  const { t } = useI18n();
  const users = useUsers();
  const action = useAction(
    async (values: Values, once): Promise<{ data: unknown }> => {
      const body = { ...values, ...(of === undefined ? {} : { ssoGroups: of.ssoGroups }) } as never;
      return of === undefined
        ? createApproverGroup({ body, headers: once })
        : changeApproverGroup({ path: { id: of.id }, body, headers: ifMatch(of.version) });
    },
    { changes: ['listApproverGroups'], done: t('saved') },
  );
  const options = users.data?.filter(({ disabled }) => !disabled).map(({ id, email }) => ({ value: id, label: email }));
  return (
    <FormDialog
      title={of?.name ?? t('groups.create')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '' },
        options === undefined
          ? { name: 'members', kind: 'lines', label: t('groups.memberIds'), value: of?.members.join('\n') ?? '' }
          : { name: 'members', kind: 'choices', label: t('groups.members'), options, value: of?.members ?? [] },
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
