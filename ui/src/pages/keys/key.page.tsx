import { ActionList, ActionListItem, Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getSigningKeyOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import {
  callOffDestruction,
  createCertificationRequest,
  disableSigningKey,
  enableSigningKey,
  importCertificate,
  rotateSigningKey,
} from '../../api/generated/sdk.gen.js';
import type { SigningKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { download } from '../../patterns/download.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useAction } from '../../patterns/use-action.js';
import { DestroyKey } from './destroy-key.js';
import { KeyDetails } from './key-details.js';
import { canSignItself, SelfSigned } from './self-signed.js';

type Dialog = 'rotate' | 'disable' | 'csr' | 'certificate' | 'self-signed' | 'destroy';
const CHANGES = ['getSigningKey', 'listSigningKey', 'listCertificates'];

export function KeyPage() {
  const { t } = useI18n();
  const query = useQuery(getSigningKeyOptions({ path: { id: useResourceId() } }));
  return (
    <ResourcePage
      query={query}
      kind={t('key')}
      parent={{ to: '/keys', name: t('nav.keys') }}
      title={(key) => key.name}
      badge={(key) => <StatusLabel status={key.state} />}
      actions={(key) => <Actions signingKey={key} />}
    >
      {(key) => <KeyDetails signingKey={key} />}
    </ResourcePage>
  );
}

function Actions({ signingKey }: { signingKey: SigningKeyView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const { id, state } = signingKey;
  const path = { id };
  const options = { changes: CHANGES };
  const enable = useAction((_values: Values) => enableSigningKey({ path }), { ...options, done: t('key.enabled') });
  const callOff = useAction((_values: Values) => callOffDestruction({ path }), {
    ...options,
    done: t('key.destructionCanceled'),
  });
  if (!may('signing-keys:write')) return null;
  return (
    <>
      <ActionList>
        {state === 'ACTIVE' && (
          <>
            <ActionListItem>
              <Button variant="secondary" onClick={() => setDialog('csr')}>
                {t('key.csr')}
              </Button>
            </ActionListItem>
            <ActionListItem>
              <Button variant="secondary" onClick={() => setDialog('certificate')}>
                {t('key.importCertificate')}
              </Button>
            </ActionListItem>
            {canSignItself(signingKey) && (
              <ActionListItem>
                <Button variant="secondary" onClick={() => setDialog('self-signed')}>
                  {t('key.selfSigned')}
                </Button>
              </ActionListItem>
            )}
            <ActionListItem>
              <Button variant="secondary" onClick={() => setDialog('rotate')}>
                {t('key.rotate')}
              </Button>
            </ActionListItem>
            <ActionListItem>
              <Button variant="secondary" isDanger onClick={() => setDialog('disable')}>
                {t('key.disable')}
              </Button>
            </ActionListItem>
          </>
        )}
        {state === 'DISABLED' && (
          <ActionListItem>
            <Button onClick={() => enable.mutate({})}>{t('key.enable')}</Button>
          </ActionListItem>
        )}
        {state === 'PENDING_DESTRUCTION' && (
          <ActionListItem>
            <Button onClick={() => callOff.mutate({})}>{t('key.cancelDestruction')}</Button>
          </ActionListItem>
        )}
        {may('admin:*') && (state === 'ACTIVE' || state === 'DISABLED') && (
          <ActionListItem>
            <Button variant="secondary" isDanger onClick={() => setDialog('destroy')}>
              {t('key.destroy')}
            </Button>
          </ActionListItem>
        )}
      </ActionList>
      {dialog !== undefined && <KeyDialog signingKey={signingKey} kind={dialog} onClose={() => setDialog(undefined)} />}
    </>
  );
}

interface KeyDialogProps {
  readonly signingKey: SigningKeyView;
  readonly kind: Dialog;
  readonly onClose: () => void;
}

function KeyDialog({ signingKey, kind, onClose }: KeyDialogProps) {
  const { t } = useI18n();
  const { id, name } = signingKey;
  const path = { id };
  const options = { changes: CHANGES };
  const rotate = useAction((values: Values) => rotateSigningKey({ path, body: values }), {
    ...options,
    done: t('key.rotated'),
  });
  const disable = useAction((_values: Values) => disableSigningKey({ path }), { ...options, done: t('key.disabled') });
  const csr = useAction(
    ({ commonName, organization, country }: Values) =>
      createCertificationRequest({ path, body: { subject: { commonName, organization, country } as never } }),
    { ...options, onDone: (made) => download(`${name}.csr`, made.csr) },
  );
  const importChain = useAction((values: Values) => importCertificate({ path, body: values as never }), {
    ...options,
    done: t('key.certificateImported'),
  });
  if (kind === 'destroy') return <DestroyKey signingKey={signingKey} onClose={onClose} />;
  if (kind === 'self-signed') return <SelfSigned signingKey={signingKey} onClose={onClose} />;
  if (kind === 'rotate') {
    return (
      <FormDialog
        title={t('key.rotate')}
        lead={t('key.rotate.lead')}
        submit={t('key.rotate')}
        action={rotate}
        onClose={onClose}
        fields={[
          {
            name: 'activate',
            kind: 'choice',
            label: t('key.activate'),
            options: ['now', 'with-certificate'].map((value) => ({
              value,
              label: t(value === 'now' ? 'key.activate.now' : 'key.activate.certificate'),
            })),
          },
        ]}
      />
    );
  }
  if (kind === 'disable') {
    return (
      <Confirm
        title={t('key.disable')}
        lead={t('key.disable.lead', { name })}
        submit={t('key.disable')}
        action={disable}
        onClose={onClose}
      />
    );
  }
  if (kind === 'csr') {
    return (
      <FormDialog
        title={t('key.csr')}
        lead={t('key.csr.lead')}
        submit={t('download')}
        action={csr}
        onClose={onClose}
        fields={[
          { name: 'commonName', label: t('key.commonName'), isRequired: true, value: name },
          { name: 'organization', label: t('key.organization') },
          { name: 'country', label: t('key.country') },
        ]}
      />
    );
  }
  return (
    <FormDialog
      title={t('key.importCertificate')}
      lead={t('key.importCertificate.lead')}
      submit={t('import')}
      action={importChain}
      onClose={onClose}
      fields={[{ name: 'chain', kind: 'area', label: t('key.chain'), isRequired: true }]}
    />
  );
}
