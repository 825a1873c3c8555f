import { Button, Card, CardBody, CardHeader, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listSessionsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changePassword, endOtherSessions, endSession } from '../../api/generated/sdk.gen.js';
import type { SessionView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { Scopes } from '../settings/api-keys.page.js';
import { Factors } from './factors.js';
import { programOf } from './program-of.js';
import { useSessionColumns } from './session-columns.js';

export function ProfilePage() {
  const { t } = useI18n();
  const { caller } = useSession();
  const [isChanging, setChanging] = useState(false);
  const sessions = useQuery(listSessionsOptions());
  // People who sign in through an identity provider have no password here.
  const way = sessions.data?.items.find(({ current }) => current)?.way;
  const hasPassword = way !== undefined && way !== 'oidc' && way !== 'saml';
  const change = useAction((values: Values) => changePassword({ body: values as never }), {
    changes: ['listSessions'],
    done: t('profile.passwordChanged'),
  });
  return (
    <PageFrame
      title={t('nav.profile')}
      lead={caller?.name}
      actions={
        hasPassword && (
          <Button variant="secondary" onClick={() => setChanging(true)}>
            {t('profile.password')}
          </Button>
        )
      }
    >
      <Stack hasGutter>
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('profile.permissions')}</CardTitle>
            <CardBody>
              <Facts facts={[[t('scopes'), <Scopes key="s" scopes={caller?.scopes ?? []} />]]} />
            </CardBody>
          </Card>
        </StackItem>
        <StackItem>
          <Factors />
        </StackItem>
        <StackItem>
          <Sessions />
        </StackItem>
      </Stack>
      {isChanging && (
        <FormDialog
          title={t('profile.password')}
          lead={t('profile.password.lead')}
          submit={t('save')}
          action={change}
          onClose={() => setChanging(false)}
          fields={[
            { name: 'currentPassword', kind: 'password', label: t('profile.currentPassword'), isRequired: true },
            {
              name: 'password',
              kind: 'password',
              label: t('profile.newPassword'),
              isRequired: true,
              hint: t('profile.newPassword.hint'),
            },
          ]}
        />
      )}
    </PageFrame>
  );
}

function Sessions() {
  const { t } = useI18n();
  const columns = useSessionColumns();
  const query = useQuery(listSessionsOptions());
  const end = useAction((id: string) => endSession({ path: { id } }), {
    changes: ['listSessions'],
    done: t('sessions.ended'),
  });
  const endOthers = useAction((_none: undefined) => endOtherSessions(), {
    changes: ['listSessions'],
    done: t('sessions.ended'),
  });
  return (
    <Card>
      <CardHeader
        actions={{
          actions: (query.data?.items.length ?? 0) > 1 && (
            <Button variant="link" onClick={() => endOthers.mutate(undefined)}>
              {t('sessions.endOthers')}
            </Button>
          ),
        }}
      >
        <CardTitle component="h2">{t('sessions')}</CardTitle>
      </CardHeader>
      <CardBody>
        <DataTable<SessionView>
          name={t('sessions')}
          query={query}
          rowKey={({ id }) => id}
          empty={null}
          columns={[
            ...columns,
            {
              name: t('actions'),
              isAction: true,
              cell: ({ id, agent, current }) =>
                !current && (
                  <RowActions
                    of={programOf(agent) ?? agent}
                    actions={[{ name: t('sessions.end'), run: () => end.mutate(id), isDanger: true }]}
                  />
                ),
            },
          ]}
        />
      </CardBody>
    </Card>
  );
}
