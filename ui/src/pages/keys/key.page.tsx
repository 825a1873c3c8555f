import {
  ActionList,
  ActionListItem,
  Button,
  Card,
  CardBody,
  CardTitle,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getSigningKeyOptions, listSigningKeyVersionsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import {
  callOffDestruction,
  createCertificationRequest,
  disableSigningKey,
  enableSigningKey,
  importCertificate,
  rotateSigningKey,
} from '../../api/generated/sdk.gen.js';
import type { KeyVersionView, SigningKeyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Command, Copyable } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { download } from '../../patterns/download.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useAction } from '../../patterns/use-action.js';
import { DestroyKey } from './destroy-key.js';
import { KeyTerms } from './key-terms.js';

type Dialog = 'rotate' | 'disable' | 'csr' | 'certificate' | 'destroy';
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
      beside={(key) => <StatusLabel status={key.state} />}
      actions={(key) => <Actions signingKey={key} />}
    >
      {(key) => <Details signingKey={key} />}
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
    done: t('key.calledOff'),
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
            <Button onClick={() => callOff.mutate({})}>{t('key.callOff')}</Button>
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

function Details({ signingKey: key }: { signingKey: SigningKeyView }) {
  const { t, named } = useI18n();
  const versions = useQuery(listSigningKeyVersionsOptions({ path: { id: key.id } }));
  const yes = (value: boolean) => t(value ? 'yes' : 'no');
  return (
    <Stack hasGutter>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [t('type'), key.type],
                [t('keys.purpose'), named('purpose', key.purpose)],
                [t('version'), key.version],
                [t('key.destroyAt'), key.destroyAt && <Day key="d" at={key.destroyAt} />],
                [t('key.destroyedAt'), key.destroyedAt && <Moment key="g" at={key.destroyedAt} exact />],
                [t('created'), <Moment key="c" at={key.createdAt} exact />],
                [t('id'), <Copyable key="i" text={key.id} />],
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <KeyTerms signingKey={key} />
      </StackItem>
      {key.evidence !== undefined && (
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('key.evidence')}</CardTitle>
            <CardBody>
              <Facts
                facts={[
                  [t('key.token'), `${key.evidence.tokenLabel} (${key.evidence.tokenModel})`],
                  [t('key.local'), yes(key.evidence.local)],
                  [t('key.sensitive'), yes(key.evidence.sensitive && key.evidence.alwaysSensitive)],
                  [t('key.extractable'), yes(key.evidence.extractable || !key.evidence.neverExtractable)],
                ]}
              />
            </CardBody>
          </Card>
        </StackItem>
      )}
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('key.versions')}</CardTitle>
          <CardBody>
            <DataTable<KeyVersionView>
              name={t('key.versions')}
              query={versions}
              rowKey={({ version }) => String(version)}
              empty={null}
              columns={[
                { name: t('version'), cell: ({ version }) => version },
                { name: t('status'), cell: ({ state }) => <StatusLabel status={state} /> },
                { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
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
              <Command text={key.publicKey.trim()} name={t('signature.publicKey')} />
            </CardBody>
          </Card>
        </StackItem>
      )}
    </Stack>
  );
}
