import { Alert, Button, Modal, ModalBody, ModalFooter, ModalHeader, Stack, StackItem } from '@patternfly/react-core';
import DownloadIcon from '@patternfly/react-icons/dist/esm/icons/download-icon';
import { useState } from 'react';
import { releaseSshKey } from '../../api/generated/sdk.gen.js';
import type { ReleasedKeyView, SshKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Command, Copyable } from '../../patterns/copyable.js';
import { download } from '../../patterns/download.js';
import { Facts } from '../../patterns/facts.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

/** ReleaseKey releases the current private key of an SSH key in the custody of the service. It requires `keys:release`. */
export function ReleaseKey({ sshKey: { id, custody } }: { sshKey: SshKeyView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [isAsked, setAsked] = useState(false);
  const [released, setReleased] = useState<ReleasedKeyView>();
  if (!may('keys:release') || custody !== 'service') return null;
  return (
    <>
      <Button variant="secondary" onClick={() => setAsked(true)}>
        {t('sshKeys.release')}
      </Button>
      {isAsked && <Ask id={id} onReleased={setReleased} onClose={() => setAsked(false)} />}
      {released !== undefined && <Released released={released} onClose={() => setReleased(undefined)} />}
    </>
  );
}

interface AskProps {
  readonly id: string;
  readonly onReleased: (key: ReleasedKeyView) => void;
  readonly onClose: () => void;
}

function Ask({ id, onReleased, onClose }: AskProps) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => releaseSshKey({ path: { id } }), { changes: [], onDone: onReleased });
  return (
    <Confirm
      title={t('sshKeys.release')}
      lead={t('sshKeys.release.lead')}
      submit={t('sshKeys.release')}
      action={action}
      onClose={onClose}
    />
  );
}

/** Released shows the private key. Only the button closes the dialog, because each release adds an audit entry. */
function Released({ released, onClose }: { released: ReleasedKeyView; onClose: () => void }) {
  const { t } = useI18n();
  const { fingerprint, privateKey } = released;
  return (
    <Modal isOpen variant="medium" aria-labelledby="released-title" onEscapePress={() => undefined}>
      <ModalHeader title={t('sshKeys.release.half')} labelId="released-title" />
      <ModalBody>
        <Stack hasGutter>
          <StackItem>
            <Alert component="h2" variant="warning" isInline title={t('sshKeys.release.keep')} />
          </StackItem>
          <StackItem>
            <Facts facts={[[t('fingerprint'), <Copyable key="f" text={fingerprint} />]]} />
          </StackItem>
          <StackItem>
            <Command text={privateKey} name={t('sshKeys.release.half')} />
          </StackItem>
        </Stack>
      </ModalBody>
      <ModalFooter>
        <Button onClick={onClose}>{t('secret.stored')}</Button>
        <Button variant="secondary" icon={<DownloadIcon />} onClick={() => download('id_ed25519', privateKey)}>
          {t('download')}
        </Button>
      </ModalFooter>
    </Modal>
  );
}
