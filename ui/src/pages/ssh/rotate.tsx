import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { listHostsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { rotateSshKey } from '../../api/generated/sdk.gen.js';
import type { RotateSshKeyBody, SshKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

const CUSTODIES = ['service', 'hsm', 'human', 'host'] as const;
type Custody = (typeof CUSTODIES)[number];

/** rotateBody returns the request body. Only custody `host` has a holder, and only custody `human` has a public key. */
function rotateBody({ holderHost, holderAccount, holderPath, ...values }: Values): RotateSshKeyBody {
  const holder = { hostId: holderHost, account: holderAccount, path: holderPath };
  return { ...values, ...(values['custody'] === 'host' ? { holder } : {}) } as never;
}

/** Rotate starts a rotation, by default as a dry run and with the custody of the old key. */
export function Rotate({ sshKey: { id, state, custody } }: { sshKey: SshKeyView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [isOpen, setOpen] = useState(false);
  if (!may('keys:rotate') || state !== 'ACTIVE') return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('sshKeys.rotate')}</Button>
      {isOpen && (
        <RotateDialog id={id} custody={custody === 'unknown' ? 'service' : custody} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

function RotateDialog({ id, custody, onClose }: { id: string; custody: Custody; onClose: () => void }) {
  const { t, named } = useI18n();
  const navigate = useNavigate();
  const hosts = useQuery(listHostsOptions({ query: { limit: 200 } }));
  const rotate = useAction(
    (values: Values, once) => rotateSshKey({ path: { id }, body: rotateBody(values), headers: once }),
    {
      changes: ['listRotations', 'getSshKey'],
      done: t('rotations.started'),
      onDone: (rotation) => void navigate({ to: `/rotations/${rotation.id}` }),
    },
  );
  const isHeldBy = (one: Custody) => (values: Values) => values['custody'] === one;
  return (
    <FormDialog
      title={t('sshKeys.rotate')}
      lead={t('sshKeys.rotate.lead')}
      submit={t('continue')}
      action={rotate}
      onClose={onClose}
      fields={[
        { name: 'dryRun', kind: 'yes', label: t('sshKeys.rotate.dryRun'), value: true },
        {
          name: 'custody',
          kind: 'choice',
          label: t('sshKeys.rotate.custody'),
          hint: t('sshKeys.rotate.custody.hint'),
          isRequired: true,
          value: custody,
          options: CUSTODIES.map((value) => ({ value, label: named('newCustody', value) })),
        },
        {
          name: 'publicKey',
          kind: 'area',
          label: t('sshKeys.rotate.publicKey'),
          hint: t('sshKeys.rotate.publicKey.hint'),
          isRequired: true,
          when: isHeldBy('human'),
        },
        {
          name: 'holderHost',
          kind: 'choice',
          label: t('host'),
          isRequired: true,
          when: isHeldBy('host'),
          options: (hosts.data?.items ?? []).map(({ id: host, name }) => ({ value: host, label: name })),
        },
        { name: 'holderAccount', label: t('sshKeys.account'), isRequired: true, when: isHeldBy('host') },
        {
          name: 'holderPath',
          label: t('sshKeys.rotate.path'),
          hint: t('sshKeys.rotate.path.hint'),
          isRequired: true,
          when: isHeldBy('host'),
          placeholder: '/home/ci/.ssh/id_ed25519',
        },
        {
          name: 'onFailure',
          kind: 'choice',
          label: t('sshKeys.rotate.onFailure'),
          isRequired: true,
          options: [
            { value: 'halt', label: t('sshKeys.rotate.halt') },
            { value: 'skip', label: t('sshKeys.rotate.skip') },
          ],
        },
      ]}
    />
  );
}
