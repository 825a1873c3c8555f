import { Alert, Button, Card, CardBody, CardTitle, Label, Stack, StackItem, Tooltip } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import {
  getSshKeyAccessOptions,
  getSshKeyOptions,
  listSshKeyLocationsOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import { assignSshKey } from '../../api/generated/sdk.gen.js';
import type { SshKeyLocationView, SshKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command, Copyable } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useAction } from '../../patterns/use-action.js';
import { HostLink } from './host-link.js';
import { ReleaseKey } from './release-key.js';
import { Rotate } from './rotate.js';
import { SshKeyLink } from './ssh-key-link.js';

export function SshKeyPage() {
  const { t } = useI18n();
  const query = useQuery(getSshKeyOptions({ path: { id: useResourceId() } }));
  return (
    <ResourcePage
      query={query}
      kind={t('sshKey')}
      parent={{ to: '/ssh-keys', name: t('nav.sshKeys') }}
      title={(key) => key.comment ?? key.fingerprint}
      badge={(key) => <StatusLabel status={key.state} />}
      actions={(key) => (
        <>
          <Rotate sshKey={key} />
          <ReleaseKey sshKey={key} />
          <Assign sshKey={key} />
        </>
      )}
    >
      {(key) => <Details sshKey={key} />}
    </ResourcePage>
  );
}

function Assign({ sshKey: { id, version, owner } }: { sshKey: SshKeyView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  const assign = useAction(
    ({ owner: name }: Values) =>
      assignSshKey({ path: { id }, body: { owner: (name ?? null) as never }, headers: ifMatch(version) }),
    { changes: ['getSshKey', 'listSshKeys'], done: t('saved') },
  );
  if (!may('hosts:write')) return null;
  return (
    <>
      <Button variant="secondary" onClick={() => setOpen(true)}>
        {t('sshKeys.assign')}
      </Button>
      {isOpen && (
        <FormDialog
          title={t('sshKeys.assign')}
          lead={t('sshKeys.owner.hint')}
          submit={t('save')}
          action={assign}
          onClose={() => setOpen(false)}
          fields={[{ name: 'owner', label: t('sshKeys.owner'), ...(owner === undefined ? {} : { value: owner }) }]}
        />
      )}
    </>
  );
}

/** Kind shows the kind of a location and, for a private key, whether possession was proven. */
function Kind({ location: { kind, possession } }: { location: SshKeyLocationView }) {
  const { t, named } = useI18n();
  return (
    <span className="sw-labels">
      {named('sshLocation', kind)}
      {possession !== undefined && (
        <Tooltip content={t(`sshKeys.possession.${possession}`)}>
          <Label isCompact color={possession === 'proven' ? 'green' : 'orange'}>
            {named('possession', possession)}
          </Label>
        </Tooltip>
      )}
    </span>
  );
}

function Details({ sshKey: key }: { sshKey: SshKeyView }) {
  const { t, named } = useI18n();
  const { one } = useUrlState();
  const cursor = one('cursor');
  const locations = useQuery(
    listSshKeyLocationsOptions({ path: { id: key.id }, query: cursor === undefined ? {} : { cursor } }),
  );
  const access = useQuery(getSshKeyAccessOptions({ path: { id: key.id } }));
  return (
    <Stack hasGutter>
      {key.findings.map(({ rule, severity, detail, locationId }) => (
        <StackItem key={`${rule} ${locationId ?? ''}`}>
          <Alert
            component="h2"
            isInline
            variant={severity === 'HIGH' ? 'danger' : severity === 'MEDIUM' ? 'warning' : 'info'}
            title={named('sshFinding', rule)}
          >
            {detail}
          </Alert>
        </StackItem>
      ))}
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [t('fingerprint'), <Copyable key="f" text={key.fingerprint} />],
                [t('type'), [key.type, key.bits].filter(Boolean).join(' ')],
                [t('sshKeys.owner'), key.owner],
                [t('sshKeys.custody'), named('custody', key.custody)],
                [t('sshKeys.knownSince'), <Moment key="k" at={key.knownSince} exact />],
                [t('asset.lastSeen'), key.lastSeen && <Moment key="l" at={key.lastSeen} />],
                [
                  t('sshKeys.lastLogin'),
                  key.lastLogin && (
                    <span key="g">
                      <Moment at={key.lastLogin.at} /> {key.lastLogin.account} ({key.lastLogin.source})
                    </span>
                  ),
                ],
                [t('sshKeys.replacedBy'), key.replacedBy && <SshKeyLink key="r" id={key.replacedBy} />],
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('sshKeys.opens', { count: access.data?.opens.length ?? 0 })}</CardTitle>
          <CardBody>
            <DataTable<SshKeyLocationView>
              name={t('sshKeys.locations')}
              query={locations}
              rowKey={({ id }) => id}
              empty={<p className="sw-muted">{t('asset.nowhere')}</p>}
              columns={[
                { name: t('sshKeys.kind'), cell: (location) => <Kind location={location} /> },
                { name: t('host'), cell: ({ hostId }) => <HostLink id={hostId} /> },
                { name: t('sshKeys.account'), cell: ({ account }) => account },
                {
                  name: t('sshKeys.path'),
                  width: 30,
                  cell: ({ path, line }) => (
                    <span className="sw-mono">{line === undefined ? path : `${path}:${line}`}</span>
                  ),
                },
                { name: t('asset.lastSeen'), cell: ({ lastSeen }) => <Moment at={lastSeen} /> },
                {
                  name: t('sshKeys.removed'),
                  cell: ({ goneAt }) => (goneAt === undefined ? '–' : <Moment at={goneAt} />),
                },
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      {key.publicKey !== undefined && (
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('signature.publicKey')}</CardTitle>
            <CardBody>
              <Command text={key.publicKey} name={t('signature.publicKey')} />
            </CardBody>
          </Card>
        </StackItem>
      )}
    </Stack>
  );
}
