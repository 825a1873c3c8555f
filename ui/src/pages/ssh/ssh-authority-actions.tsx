import { ActionList, ActionListItem, Button } from '@patternfly/react-core';
import { useState } from 'react';
import { retireSshAuthority } from '../../api/generated/sdk.gen.js';
import type { SshAuthorityView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';
import { IssueCertificate } from './issue-certificate.js';
import { PushRevocations } from './push-revocations.js';
import { RevokeCertificate } from './revoke-certificate.js';

type Act = 'issue' | 'revoke' | 'push' | 'retire';

export function AuthorityActions({ authority }: { authority: SshAuthorityView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [act, setAct] = useState<Act>();
  const close = () => setAct(undefined);
  const canWrite = may('ssh-ca:write');
  const { id, state } = authority;
  const usable: Record<Act, boolean> = {
    issue: may('ssh-ca:issue') && state === 'ACTIVE',
    revoke: canWrite,
    push: canWrite,
    retire: canWrite && state !== 'RETIRED',
  };
  return (
    <>
      <ActionList>
        {(['issue', 'revoke', 'push', 'retire'] as const)
          .filter((one) => usable[one])
          .map((one) => (
            <ActionListItem key={one}>
              <Button variant={one === 'issue' ? 'primary' : 'secondary'} onClick={() => setAct(one)}>
                {t(`sshCa.${one}`)}
              </Button>
            </ActionListItem>
          ))}
      </ActionList>
      {act === 'issue' && <IssueCertificate authority={authority} onClose={close} />}
      {act === 'revoke' && <RevokeCertificate id={id} onClose={close} />}
      {act === 'push' && <PushRevocations id={id} onClose={close} />}
      {act === 'retire' && <Retire authority={authority} onClose={close} />}
    </>
  );
}

/** Retire retires a CA in two steps, so that another CA can take over without a gap. */
function Retire({ authority: { id, name, state }, onClose }: { authority: SshAuthorityView; onClose: () => void }) {
  const { t } = useI18n();
  const next = state === 'ACTIVE' ? 'RETIRING' : 'RETIRED';
  const action = useAction((_values: Values) => retireSshAuthority({ path: { id }, body: { state: next } }), {
    changes: ['getSshAuthority', 'listSshAuthorities'],
    done: t('saved'),
  });
  return (
    <Confirm
      title={t('sshCa.retire')}
      lead={t(next === 'RETIRING' ? 'sshCa.retire.lead' : 'sshCa.retire.last', { name })}
      submit={t('sshCa.retire')}
      action={action}
      onClose={onClose}
    />
  );
}
