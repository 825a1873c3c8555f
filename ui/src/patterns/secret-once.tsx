import { Alert, Button, Modal, ModalBody, ModalFooter, ModalHeader, Stack, StackItem } from '@patternfly/react-core';
import { useI18n } from '../i18n/i18n.js';
import { CopyButton } from './copyable.js';
import { Facts } from './facts.js';

interface SecretOnceProps {
  readonly title: string;
  /** Names and values. */
  readonly secrets: readonly (readonly [string, string])[];
  readonly onClose: () => void;
}

/** SecretOnce shows values that the service never shows again. Only the button closes the dialog, to prevent accidental loss. */
export function SecretOnce({ title, secrets, onClose }: SecretOnceProps) {
  const { t } = useI18n();
  return (
    <Modal isOpen variant="medium" aria-labelledby="secret-title" onEscapePress={() => undefined}>
      <ModalHeader title={title} labelId="secret-title" />
      <ModalBody>
        <Stack hasGutter>
          <StackItem>
            <Alert component="h2" variant="warning" isInline title={t('secret.once')} />
          </StackItem>
          <StackItem>
            <Facts
              facts={secrets.map(([name, value]) => [
                name,
                <span key={name} className="sw-secret">
                  <code className="sw-mono" data-secret={name}>
                    {value}
                  </code>{' '}
                  <CopyButton text={value} name={name} />
                </span>,
              ])}
            />
          </StackItem>
        </Stack>
      </ModalBody>
      <ModalFooter>
        <Button onClick={onClose}>{t('secret.stored')}</Button>
      </ModalFooter>
    </Modal>
  );
}
