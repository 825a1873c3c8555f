import { Button, Label } from '@patternfly/react-core';
import KeyIcon from '@patternfly/react-icons/dist/esm/icons/key-icon';
import { useState } from 'react';
import { listSshKeysOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { enterSshKey } from '../../api/generated/sdk.gen.js';
import type { SshKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';
import { HostLink } from './host-link.js';

const FINDINGS = ['weak', 'old', 'orphan', 'shared', 'root', 'cert-authority', 'no-passphrase', 'unrestricted'];
const CUSTODIES = ['unknown', 'human', 'host', 'service', 'hsm'];
const COLORS = { HIGH: 'orange', MEDIUM: 'yellow', LOW: 'teal' } as const;

/** SshFindings shows the findings of a key as labels. */
export function SshFindings({ findings }: Pick<SshKeyView, 'findings'>) {
  const { t, named } = useI18n();
  if (findings.length === 0) return <span className="sw-muted">{t('sshKeys.noFindings')}</span>;
  const rules = new Map(findings.map(({ rule, severity }) => [rule, severity]));
  return (
    <span className="sw-labels">
      {[...rules].map(([rule, severity]) => (
        <Label key={rule} color={COLORS[severity]} isCompact>
          {named('sshFinding', rule)}
        </Label>
      ))}
    </span>
  );
}

export function SshKeysPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  const enter = useAction((values: Values, once) => enterSshKey({ body: values as never, headers: once }), {
    changes: ['listSshKeys'],
    done: t('sshKeys.entered'),
  });
  const add = may('hosts:write') && <Button onClick={() => setOpen(true)}>{t('sshKeys.enter')}</Button>;
  const options = (prefix: string, values: readonly string[]) =>
    values.map((value) => ({ value, name: named(prefix, value) }));
  return (
    <PageFrame title={t('nav.sshKeys')} lead={t('sshKeys.lead')} actions={add}>
      <ResourceList<SshKeyView>
        name={t('nav.sshKeys')}
        list={(query) => listSshKeysOptions({ query })}
        rowKey={({ id }) => id}
        icon={KeyIcon}
        filters={[
          { kind: 'text', param: 'fingerprint', name: t('fingerprint') },
          {
            kind: 'choice',
            param: 'finding',
            name: t('sshKeys.finding'),
            isSingle: true,
            options: options('sshFinding', FINDINGS),
          },
          {
            kind: 'choice',
            param: 'state',
            name: t('status'),
            isSingle: true,
            options: options('status', ['ACTIVE', 'RETIRED']),
          },
          { kind: 'text', param: 'owner', name: t('sshKeys.owner') },
          { kind: 'linked', param: 'hostId', name: t('host'), nameOf: (id) => <HostLink id={id} /> },
        ]}
        emptyTitle={t('sshKeys.none')}
        emptyBody={t('sshKeys.none.body')}
        emptyAction={add}
        columns={[
          {
            name: t('fingerprint'),
            width: 25,
            cell: ({ id, fingerprint }) => (
              <Go to={`/ssh-keys/${id}`} className="sw-row-link">
                <span className="sw-mono">{fingerprint.slice(0, 27)}…</span>
              </Go>
            ),
          },
          { name: t('type'), cell: ({ type, bits }) => [type, bits].filter(Boolean).join(' ') },
          { name: t('sshKeys.comment'), cell: ({ comment }) => comment ?? '–' },
          {
            name: t('sshKeys.owner'),
            cell: ({ owner }) => owner ?? <span className="sw-muted">{t('sshKeys.noOwner')}</span>,
          },
          { name: t('status'), cell: ({ state }) => <StatusLabel status={state} /> },
          { name: t('sshKeys.findings'), cell: ({ findings }) => <SshFindings findings={findings} /> },
          { name: t('sshKeys.knownSince'), cell: ({ knownSince }) => <Moment at={knownSince} /> },
        ]}
      />
      {isOpen && (
        <FormDialog
          title={t('sshKeys.enter')}
          lead={t('sshKeys.enter.lead')}
          submit={t('create')}
          action={enter}
          onClose={() => setOpen(false)}
          fields={[
            {
              name: 'publicKey',
              kind: 'area',
              label: t('signature.publicKey'),
              isRequired: true,
              placeholder: 'ssh-ed25519 AAAA…',
            },
            { name: 'owner', label: t('sshKeys.owner'), hint: t('sshKeys.owner.hint') },
            {
              name: 'custody',
              kind: 'choice',
              label: t('sshKeys.custody'),
              options: CUSTODIES.map((value) => ({ value, label: named('custody', value) })),
            },
          ]}
        />
      )}
    </PageFrame>
  );
}
