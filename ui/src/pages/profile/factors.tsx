import {
  Button,
  Card,
  CardBody,
  CardHeader,
  CardTitle,
  Content,
  Form,
  FormGroup,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  TextInput,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type ComponentProps, type SyntheticEvent, useState } from 'react';
import { listSecondFactorsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import {
  beginPasskey,
  beginTotp,
  confirmPasskey,
  confirmTotp,
  removeSecondFactor,
  replaceRecoveryCodes,
} from '../../api/generated/sdk.gen.js';
import type { NewTotpView, SecondFactorView } from '../../api/generated/types.gen.js';
import { hasPasskeys, createPasskey } from '../../api/passkeys.js';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { textOf, type Values } from '../../patterns/form-fields.js';
import { Moment } from '../../patterns/moment.js';
import { Problem } from '../../patterns/problem.js';
import { RowActions } from '../../patterns/row-actions.js';
import { SecretOnce } from '../../patterns/secret-once.js';
import { useAction } from '../../patterns/use-action.js';
import { QrCode } from './qr-code.js';

const CHANGES = { changes: ['listSecondFactors'] };

/** Factors manages the person's authenticator apps, passkeys and recovery codes. */
export function Factors() {
  const { t, named } = useI18n();
  const query = useQuery(listSecondFactorsOptions());
  const [adding, setAdding] = useState<'totp' | 'passkey'>();
  const [begun, setBegun] = useState<NewTotpView>();
  const [codes, setCodes] = useState<readonly string[]>();
  const passkey = useAction(
    async ({ name }: Values) => {
      const { data } = await beginPasskey();
      return confirmPasskey({ body: { name: textOf(name), credential: await createPasskey(data.publicKey) } });
    },
    {
      ...CHANGES,
      done: t('factors.added'),
      onDone: ({ recoveryCodes }) => recoveryCodes.length > 0 && setCodes(recoveryCodes),
    },
  );
  const begin = useAction((values: Values) => beginTotp({ body: values as never }), { ...CHANGES, onDone: setBegun });
  const remove = useAction((id: string) => removeSecondFactor({ path: { id } }), { ...CHANGES, done: t('removed') });
  const renew = useAction((_none: undefined) => replaceRecoveryCodes(), {
    ...CHANGES,
    onDone: ({ recoveryCodes }) => setCodes(recoveryCodes),
  });
  const count = query.data?.items.length ?? 0;
  return (
    <Card>
      <CardHeader
        actions={{
          actions: (
            <>
              {count > 0 && (
                <Button variant="link" onClick={() => renew.mutate(undefined)}>
                  {t('factors.codes')}
                </Button>
              )}
              {hasPasskeys() && (
                <Button variant="secondary" onClick={() => setAdding('passkey')}>
                  {t('factors.addPasskey')}
                </Button>
              )}{' '}
              <Button variant="secondary" onClick={() => setAdding('totp')}>
                {t('factors.add')}
              </Button>
            </>
          ),
        }}
      >
        <CardTitle component="h2">{t('factors')}</CardTitle>
      </CardHeader>
      <CardBody>
        {remove.isError && <Problem error={remove.error} />}
        <DataTable<SecondFactorView>
          name={t('factors')}
          query={query}
          rowKey={({ id }) => id}
          empty={<Content component="p">{t('factors.none')}</Content>}
          columns={[
            { name: t('name'), width: 30, cell: ({ name }) => name },
            { name: t('kind'), cell: ({ kind }) => named('factor', kind) },
            { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
            { name: t('lastUsed'), cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
            {
              name: t('actions'),
              isAction: true,
              cell: ({ id, name }) => (
                <RowActions of={name} actions={[{ name: t('remove'), run: () => remove.mutate(id), isDanger: true }]} />
              ),
            },
          ]}
        />
      </CardBody>
      {adding !== undefined && (
        <FactorNameDialog
          kind={adding}
          action={adding === 'totp' ? begin : passkey}
          onClose={() => setAdding(undefined)}
        />
      )}
      {begun !== undefined && (
        <EnrollTotp
          begun={begun}
          onClose={() => setBegun(undefined)}
          onCodes={(made) => {
            setBegun(undefined);
            if (made.length > 0) setCodes(made);
          }}
        />
      )}
      {codes !== undefined && (
        <SecretOnce
          title={t('factors.codes')}
          secrets={codes.map((code, index) => [String(index + 1), code])}
          onClose={() => setCodes(undefined)}
        />
      )}
    </Card>
  );
}

interface FactorNameProps {
  readonly kind: 'totp' | 'passkey';
  readonly action: ComponentProps<typeof FormDialog>['action'];
  readonly onClose: () => void;
}

/** FactorNameDialog asks for the name of a new factor. */
function FactorNameDialog({ kind, ...rest }: FactorNameProps) {
  const { t } = useI18n();
  const texts =
    kind === 'passkey'
      ? { title: t('factors.addPasskey'), lead: t('factors.addPasskey.lead') }
      : { title: t('factors.add'), lead: t('factors.add.lead') };
  const field =
    kind === 'passkey'
      ? { label: t('name'), value: t('factors.passkey.default') }
      : { label: t('factors.name'), value: t('factors.name.default') };
  const fields = [{ name: 'name', isRequired: true, ...field }];
  return <FormDialog {...texts} submit={t('continue')} fields={fields} {...rest} />;
}

interface EnrollTotpProps {
  readonly begun: NewTotpView;
  readonly onClose: () => void;
  readonly onCodes: (codes: readonly string[]) => void;
}

/** EnrollTotp confirms an authenticator app with its first valid code. */
function EnrollTotp({ begun: { id, uri, secret }, onClose, onCodes }: EnrollTotpProps) {
  const { t } = useI18n();
  const [code, setCode] = useState('');
  const confirm = useAction((_none: undefined) => confirmTotp({ path: { id }, body: { code: code.trim() } }), {
    ...CHANGES,
    done: t('factors.added'),
    onDone: ({ recoveryCodes }) => onCodes(recoveryCodes),
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    confirm.mutate(undefined);
  };
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="enrol-title">
      <ModalHeader title={t('factors.add')} labelId="enrol-title" description={t('factors.scan')} />
      <ModalBody>
        <Form id="enrol" onSubmit={submit}>
          <QrCode text={uri} label={t('factors.qr')} />
          <FormGroup label={t('factors.secret')}>
            <Copyable text={secret} name={t('factors.secret')} />
          </FormGroup>
          {confirm.isError && <Problem error={confirm.error} />}
          <FormGroup label={t('signIn.code')} fieldId="enrol-code" isRequired>
            <TextInput
              id="enrol-code"
              inputMode="numeric"
              autoComplete="one-time-code"
              isRequired
              value={code}
              onChange={(_event, value) => setCode(value)}
            />
          </FormGroup>
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form="enrol" isLoading={confirm.isPending}>
          {t('factors.confirm')}
        </Button>
        <Button variant="link" onClick={onClose}>
          {t('cancel')}
        </Button>
      </ModalFooter>
    </Modal>
  );
}
