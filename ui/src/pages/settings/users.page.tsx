import { Button, Label, LabelGroup, Stack, StackItem, Title } from '@patternfly/react-core';
import UsersIcon from '@patternfly/react-icons/dist/esm/icons/users-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listInvitationsQueryKey, listUsersOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import {
  changeUser,
  endUserSessions,
  inviteUser,
  listInvitations,
  resetSecondFactors,
  revokeInvitation,
  sendPasswordReset,
} from '../../api/generated/sdk.gen.js';
import type { InvitationPage, InvitationView, NewInvitationView, UserView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { DataTable } from '../../patterns/data-table.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { SecretOnce } from '../../patterns/secret-once.js';
import { useAction } from '../../patterns/use-action.js';
import { UserSessions } from './user-sessions.js';

const ROLES = ['viewer', 'operator', 'approver', 'auditor', 'admin'];
type Act = 'roles' | 'toggle' | 'sessions' | 'factors' | 'reset';

function Roles({ roles }: { roles: readonly string[] }) {
  const { t, named } = useI18n();
  return (
    <LabelGroup aria-label={t('roles')}>
      {roles.map((role) => (
        <Label key={role} isCompact variant="outline">
          {named('role', role)}
        </Label>
      ))}
    </LabelGroup>
  );
}

function useRoleOptions() {
  const { named } = useI18n();
  return ROLES.map((value) => ({ value, label: named('role', value), hint: named('roleHint', value) }));
}

export function UsersPage() {
  const { t } = useI18n();
  const { may, caller } = useSession();
  const [isInviting, setInviting] = useState(false);
  const [act, setAct] = useState<{ readonly kind: Act; readonly of: UserView }>();
  const start = (kind: Act, of: UserView) => ({ name: t(actName(kind, of)), run: () => setAct({ kind, of }) });
  const invite = may('users:write') && <Button onClick={() => setInviting(true)}>{t('users.invite')}</Button>;
  return (
    <PageFrame title={t('nav.users')} lead={t('users.lead')} actions={invite}>
      <Stack hasGutter>
        <StackItem>
          <ResourceList<UserView>
            name={t('nav.users')}
            list={(query) => listUsersOptions({ query })}
            rowKey={({ id }) => id}
            icon={UsersIcon}
            emptyTitle={t('users.none')}
            columns={[
              { name: t('signIn.email'), width: 30, cell: ({ email }) => <strong>{email}</strong> },
              { name: t('users.provider'), cell: ({ providers }) => providers.join(', ') || t('signIn.password') },
              { name: t('status'), cell: ({ disabled }) => <StatusLabel status={disabled ? 'DISABLED' : 'ACTIVE'} /> },
              { name: t('roles'), width: 30, cell: ({ roles }) => <Roles roles={roles} /> },
              { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
              {
                name: t('actions'),
                isAction: true,
                cell: (row) =>
                  may('users:write') && (
                    <RowActions
                      of={row.email}
                      actions={[
                        start('roles', row),
                        start('reset', row),
                        start('factors', row),
                        start('sessions', row),
                        row.id !== caller?.id && { ...start('toggle', row), isDanger: !row.disabled },
                      ]}
                    />
                  ),
              },
            ]}
          />
        </StackItem>
        <StackItem>
          <Invitations isInviting={isInviting} onClose={() => setInviting(false)} />
        </StackItem>
      </Stack>
      {act !== undefined && <ActDialog {...act} onClose={() => setAct(undefined)} />}
    </PageFrame>
  );
}

function actName(kind: Act, { disabled }: UserView) {
  if (kind === 'toggle') return disabled ? 'users.enable' : 'users.disable';
  return `users.${kind}` as const;
}

function ActDialog({ kind, of, onClose }: { kind: Act; of: UserView; onClose: () => void }) {
  const { t } = useI18n();
  const roles = useRoleOptions();
  const path = { id: of.id };
  const action = useAction(
    async (values: Values): Promise<{ data: unknown }> => {
      if (kind === 'roles') return changeUser({ path, body: { roles: values['roles'] as never } });
      if (kind === 'toggle') return changeUser({ path, body: { disabled: !of.disabled } });
      if (kind === 'sessions') return endUserSessions({ path });
      if (kind === 'factors') return resetSecondFactors({ path });
      return sendPasswordReset({ path });
    },
    { changes: ['listUsers', 'listUserSessions'], done: t('saved') },
  );
  const title = t(actName(kind, of));
  if (kind === 'roles') {
    return (
      <FormDialog
        title={title}
        lead={of.email}
        submit={t('save')}
        action={action}
        onClose={onClose}
        fields={[{ name: 'roles', kind: 'choices', label: t('roles'), options: roles, value: of.roles }]}
      />
    );
  }
  const lead = t(kind === 'toggle' && of.disabled ? 'users.enable.lead' : `users.${kind}.lead`, { name: of.email });
  return (
    <Confirm
      title={title}
      lead={lead}
      submit={kind === 'sessions' ? t('users.sessions.end') : title}
      action={action}
      onClose={onClose}
    >
      {kind === 'sessions' && <UserSessions id={of.id} />}
    </Confirm>
  );
}

const PAGE_SIZE = 200;

/** Reads all open invitations: the cursor in the address belongs to the list of users. */
async function readInvitations(): Promise<InvitationPage> {
  const all: InvitationView[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const query = { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
    const { items, nextCursor }: InvitationPage = (await listInvitations({ query })).data;
    all.push(...items);
    cursor = nextCursor;
  }
  return { items: all, nextCursor: null };
}

function Invitations({ isInviting, onClose }: { isInviting: boolean; onClose: () => void }) {
  const { t } = useI18n();
  const { may } = useSession();
  const query = useQuery({ queryKey: listInvitationsQueryKey(), queryFn: readInvitations });
  const roles = useRoleOptions();
  const [made, setMade] = useState<NewInvitationView>();
  const changes = ['listInvitations'];
  const invite = useAction((values: Values, once) => inviteUser({ body: values as never, headers: once }), {
    changes,
    onDone: setMade,
  });
  const revoke = useAction((id: string) => revokeInvitation({ path: { id } }), { changes, done: t('revoked') });
  return (
    <>
      {query.data !== undefined && query.data.items.length > 0 && (
        <>
          <Title headingLevel="h2">{t('invitations')}</Title>
          <DataTable<InvitationView>
            name={t('invitations')}
            query={query}
            rowKey={({ id }) => id}
            empty={null}
            columns={[
              { name: t('signIn.email'), cell: ({ email }) => email },
              { name: t('roles'), cell: (row) => <Roles roles={row.roles} /> },
              { name: t('invitations.by'), cell: ({ invitedBy }) => invitedBy },
              { name: t('invitations.until'), cell: ({ expiresAt }) => <Day at={expiresAt} /> },
              {
                name: t('actions'),
                isAction: true,
                cell: ({ id, email }) =>
                  may('users:write') && (
                    <RowActions
                      of={email}
                      actions={[{ name: t('revoke'), run: () => revoke.mutate(id), isDanger: true }]}
                    />
                  ),
              },
            ]}
          />
        </>
      )}
      {isInviting && (
        <FormDialog
          title={t('users.invite')}
          lead={t('users.invite.lead')}
          submit={t('users.invite')}
          action={invite}
          onClose={onClose}
          fields={[
            { name: 'email', kind: 'email', label: t('signIn.email'), isRequired: true },
            { name: 'roles', kind: 'choices', label: t('roles'), isRequired: true, options: roles, value: ['viewer'] },
          ]}
        />
      )}
      {made?.link !== undefined && (
        <SecretOnce
          title={made.email}
          secrets={[[t('invitations.link'), made.link]]}
          onClose={() => setMade(undefined)}
        />
      )}
    </>
  );
}
