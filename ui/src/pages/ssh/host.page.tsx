import {
  ActionList,
  ActionListItem,
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  Label,
  LabelGroup,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import { getHostOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { deleteHost, testConnection, updateHost } from '../../api/generated/sdk.gen.js';
import type { ConnectionTestView, HostView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Copyable } from '../../patterns/copyable.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { changedValues, type Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { Problem } from '../../patterns/problem.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useToast } from '../../patterns/toasts.js';
import { useAction } from '../../patterns/use-action.js';
import { HostKeys } from './host-keys.js';
import { hostBody, useHostFields } from './hosts.page.js';

export function HostPage() {
  const { t } = useI18n();
  const query = useQuery(getHostOptions({ path: { id: useResourceId() } }));
  return (
    <ResourcePage
      query={query}
      kind={t('host')}
      parent={{ to: '/hosts', name: t('nav.hosts') }}
      title={(host) => host.name}
      badge={(host) => <StatusLabel status={host.reachability} />}
      actions={(host) => <Actions host={host} />}
    >
      {(host) => (
        <Stack hasGutter>
          <StackItem>
            <ConnectionTest host={host} />
          </StackItem>
          <StackItem>
            <Details host={host} />
          </StackItem>
          <StackItem>
            <HostKeys host={host} />
          </StackItem>
        </Stack>
      )}
    </ResourcePage>
  );
}

function Actions({ host }: { host: HostView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const navigate = useNavigate();
  const notify = useToast();
  const [dialog, setDialog] = useState<'edit' | 'remove'>();
  const fields = useHostFields(host);
  const path = { id: host.id };
  const headers = ifMatch(host.version);
  const edit = useAction(
    (values: Values) => updateHost({ path, headers, body: hostBody(changedValues(fields, values)) }),
    {
      changes: ['getHost', 'listHost'],
      done: t('saved'),
      onDone: ({ dropped }) => {
        if (dropped?.credential) notify(t('hosts.discarded'), 'info');
        if ((dropped?.credentialsBehind ?? 0) > 0)
          notify(t('hosts.discardedBehind', { count: dropped?.credentialsBehind ?? 0 }), 'info');
      },
    },
  );
  const remove = useAction((_values: Values) => deleteHost({ path, headers }), {
    changes: ['listHosts'],
    done: t('removed'),
    onDone: () => void navigate({ to: '/hosts' }),
  });
  if (!may('hosts:write')) return null;
  const close = () => setDialog(undefined);
  return (
    <>
      <ActionList>
        <ActionListItem>
          <Button variant="secondary" onClick={() => setDialog('edit')}>
            {t('edit')}
          </Button>
        </ActionListItem>
        <ActionListItem>
          <Button variant="secondary" isDanger onClick={() => setDialog('remove')}>
            {t('remove')}
          </Button>
        </ActionListItem>
      </ActionList>
      {dialog === 'edit' && (
        <FormDialog title={host.name} submit={t('save')} action={edit} onClose={close} fields={fields} />
      )}
      {dialog === 'remove' && (
        <Confirm
          title={t('remove')}
          lead={t('remove.lead', { name: host.name })}
          submit={t('remove')}
          action={remove}
          onClose={close}
        />
      )}
    </>
  );
}

/** ConnectionTest tests the login and shows the result. */
function ConnectionTest({ host }: { host: HostView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [result, setResult] = useState<ConnectionTestView>();
  const test = useAction((_none: undefined) => testConnection({ path: { id: host.id } }), {
    changes: ['getHost', 'listHost'],
    onDone: setResult,
  });
  if (!may('hosts:write')) return null;
  return (
    <Stack hasGutter>
      <StackItem>
        <Button
          variant="secondary"
          isLoading={test.isPending}
          isDisabled={test.isPending}
          onClick={() => test.mutate(undefined)}
        >
          {t('hosts.test')}
        </Button>
      </StackItem>
      {test.isError && (
        <StackItem>
          <Problem error={test.error} />
        </StackItem>
      )}
      {result !== undefined && (
        <StackItem>
          <Alert
            component="h2"
            isInline
            variant={result.ok ? 'success' : 'danger'}
            title={t(result.ok ? 'hosts.testOk' : 'hosts.testFailed', { milliseconds: result.milliseconds })}
          >
            <Facts
              facts={[
                [t('imports.detail'), result.detail],
                [t('imports.code'), result.code],
                [t('hosts.user'), result.user],
                [t('hosts.software'), result.software],
                [t('hosts.hostKey'), result.hostKeyFingerprint],
                [t('hosts.root'), result.becomesRoot === undefined ? undefined : t(result.becomesRoot ? 'yes' : 'no')],
                [t('hosts.privilegeDetail'), result.privilegeDetail],
              ]}
            />
          </Alert>
        </StackItem>
      )}
    </Stack>
  );
}

function Details({ host }: { host: HostView }) {
  const { t, named } = useI18n();
  const labels = Object.entries(host.labels);
  return (
    <Card>
      <CardTitle component="h2">{t('request.facts')}</CardTitle>
      <CardBody>
        <Facts
          facts={[
            [t('hosts.address'), <Copyable key="a" text={`${host.address}:${host.port}`} />],
            [t('hosts.system'), [host.os, host.sshVersion].filter(Boolean).join(', ')],
            [t('sshKeys.owner'), host.owner],
            [t('hosts.environment'), host.environment],
            [t('hosts.mode'), named('managementMode', host.managementMode)],
            [t('hosts.policy'), named('hostKeyPolicy', host.hostKeyPolicy)],
            [t('hosts.privilege'), named('privilege', host.privilege)],
            [t('hosts.legacy'), host.legacyAlgorithms ? t('yes') : undefined],
            [
              t('hosts.login'),
              host.credential && `${host.credential.user} (${named('credential', host.credential.kind)})`,
            ],
            [
              t('hosts.jump'),
              host.jumpHostId && (
                <Go key="j" to={`/hosts/${host.jumpHostId}`}>
                  {host.jumpHostId}
                </Go>
              ),
            ],
            [
              t('hosts.label'),
              labels.length > 0 && (
                <LabelGroup key="l" aria-label={t('hosts.label')}>
                  {labels.map(([name, value]) => (
                    <Label key={name} isCompact variant="outline">
                      {`${name}: ${value}`}
                    </Label>
                  ))}
                </LabelGroup>
              ),
            ],
            [t('hosts.checked'), host.checkedAt && <Moment key="c" at={host.checkedAt} />],
            [t('hosts.lastFailure'), host.reachabilityCode],
            [
              t('nav.sshKeys'),
              <Go key="k" to={`/ssh-keys?hostId=${host.id}`}>
                {t('hosts.keysHere')}
              </Go>,
            ],
          ].filter((fact): fact is [string, string] => fact[1] !== false)}
        />
      </CardBody>
    </Card>
  );
}
