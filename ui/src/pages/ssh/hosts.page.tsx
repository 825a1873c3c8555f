import { Button } from '@patternfly/react-core';
import ServerIcon from '@patternfly/react-icons/dist/esm/icons/server-icon';
import { useState } from 'react';
import { listHostsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { createHost } from '../../api/generated/sdk.gen.js';
import type { HostView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';
import { ImportHosts } from './import-hosts.js';

const REACHABILITIES = ['reachable', 'unreachable', 'throttled', 'refused', 'unknown'];

/** useHostFields returns the fields of a host. The login is sent only if a username is given. */
export function useHostFields(of?: HostView): Field[] {
  const { t, named } = useI18n();
  const choice = (name: string, label: string, values: readonly string[], value: string | undefined): Field => ({
    name,
    kind: 'choice',
    label,
    isRequired: true,
    options: values.map((one) => ({ value: one, label: named(name, one) })),
    ...(value === undefined ? {} : { value }),
  });
  return [
    { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '' },
    { name: 'address', label: t('hosts.address'), isRequired: true, value: of?.address ?? '' },
    { name: 'port', kind: 'number', label: t('hosts.port'), min: 1, max: 65_535, value: of?.port ?? 22 },
    { name: 'owner', label: t('sshKeys.owner'), value: of?.owner ?? '' },
    { name: 'environment', label: t('hosts.environment'), value: of?.environment ?? '' },
    choice('managementMode', t('hosts.mode'), ['inventory-only', 'managed'], of?.managementMode),
    choice('hostKeyPolicy', t('hosts.policy'), ['pinned', 'tofu'], of?.hostKeyPolicy),
    choice('privilege', t('hosts.privilege'), ['none', 'sudo', 'root'], of?.privilege),
    legacyField(t, of),
    { name: 'user', label: t('hosts.user'), ...(of === undefined ? {} : { hint: t('hosts.user.keep') }) },
    { name: 'privateKey', kind: 'area', label: t('hosts.privateKey'), hint: t('hosts.privateKey.hint') },
    { name: 'passphrase', kind: 'password', label: t('hosts.passphrase'), hint: t('hosts.passphrase.hint') },
    { name: 'password', kind: 'password', label: t('hosts.password'), hint: t('hosts.password.hint') },
    ...dropBehind(t, of),
  ];
}

function legacyField(t: ReturnType<typeof useI18n>['t'], of: HostView | undefined): Field {
  const value = of?.legacyAlgorithms ?? false;
  return { name: 'legacyAlgorithms', kind: 'yes', label: t('hosts.legacy'), hint: t('hosts.legacy.hint'), value };
}

/** dropBehind confirms that the hosts reached through an existing host may lose their credentials. */
function dropBehind(t: ReturnType<typeof useI18n>['t'], of: HostView | undefined): Field[] {
  if (of === undefined) return [];
  const label = t('hosts.discardBehind');
  return [{ name: 'dropCredentialsBehind', kind: 'yes', label, hint: t('hosts.discardBehind.hint') }];
}

export function hostBody({ user, privateKey, passphrase, password, ...rest }: Values): never {
  const secrets = Object.entries({ privateKey, passphrase, password }).filter(([, value]) => value !== undefined);
  const credential = user === undefined ? {} : { credential: { user, ...Object.fromEntries(secrets) } };
  return { ...rest, ...credential } as never;
}

export function HostsPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [isImporting, setImporting] = useState(false);
  const fields = useHostFields();
  const create = useAction((values: Values, once) => createHost({ body: hostBody(values), headers: once }), {
    changes: ['listHosts'],
    done: t('hosts.created'),
  });
  const add = may('hosts:write') && (
    <>
      <Button onClick={() => setOpen(true)}>{t('hosts.create')}</Button>
      <Button variant="secondary" onClick={() => setImporting(true)}>
        {t('hosts.import')}
      </Button>
    </>
  );
  return (
    <PageFrame title={t('nav.hosts')} lead={t('hosts.lead')} actions={add}>
      <ResourceList<HostView>
        name={t('nav.hosts')}
        list={(query) => listHostsOptions({ query })}
        rowKey={({ id }) => id}
        icon={ServerIcon}
        filters={[
          { kind: 'text', param: 'q', name: t('hosts.search') },
          {
            kind: 'choice',
            param: 'reachability',
            name: t('hosts.reachability'),
            isSingle: true,
            options: REACHABILITIES.map((value) => ({ value, name: named('status', value) })),
          },
          { kind: 'text', param: 'environment', name: t('hosts.environment') },
          { kind: 'text', param: 'label', name: t('hosts.label') },
        ]}
        emptyTitle={t('hosts.none')}
        emptyAction={add}
        columns={[
          {
            name: t('name'),
            width: 20,
            cell: ({ id, name }) => (
              <Go to={`/hosts/${id}`} className="sw-row-link">
                {name}
              </Go>
            ),
          },
          {
            name: t('hosts.address'),
            cell: ({ address, port }) => <span className="sw-mono">{`${address}:${port}`}</span>,
          },
          { name: t('hosts.reachability'), cell: ({ reachability }) => <StatusLabel status={reachability} /> },
          { name: t('hosts.mode'), cell: ({ managementMode }) => named('managementMode', managementMode) },
          { name: t('hosts.environment'), cell: ({ environment }) => environment ?? '–' },
          { name: t('sshKeys.owner'), cell: ({ owner }) => owner ?? '–' },
          { name: t('hosts.checked'), cell: ({ checkedAt }) => <Moment at={checkedAt} /> },
        ]}
      />
      {isImporting && <ImportHosts onClose={() => setImporting(false)} />}
      {isOpen && (
        <FormDialog
          title={t('hosts.create')}
          submit={t('create')}
          action={create}
          onClose={() => setOpen(false)}
          fields={fields}
        />
      )}
    </PageFrame>
  );
}
