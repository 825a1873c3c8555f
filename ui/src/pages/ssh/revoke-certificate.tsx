import { revokeSshCertificate } from '../../api/generated/sdk.gen.js';
import type { IssuedSshCertificateView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

const KINDS = ['serial', 'keyId', 'publicKey'] as const;

interface Props {
  /** ID of the CA. */
  readonly id: string;
  /** If undefined, the dialog asks what to revoke. */
  readonly certificate?: IssuedSshCertificateView;
  readonly onClose: () => void;
}

/** RevokeCertificate adds a revocation. Hosts receive it with the next KRL. */
export function RevokeCertificate({ id, certificate, onClose }: Props) {
  const { t, named } = useI18n();
  const action = useAction(
    (values: Values) =>
      revokeSshCertificate({
        path: { id },
        body: {
          ...(certificate === undefined ? {} : { kind: 'serial', value: certificate.serial }),
          ...values,
        } as never,
      }),
    { changes: ['listSshCertificates', 'listSshRevocations'], done: t('sshCa.revoked') },
  );
  const what: Field[] = [
    {
      name: 'kind',
      kind: 'choice',
      label: t('kind'),
      isRequired: true,
      options: KINDS.map((value) => ({ value, label: named('sshRevocation', value) })),
    },
    { name: 'value', kind: 'area', label: t('sshCa.value'), isRequired: true, hint: t('sshCa.value.hint') },
  ];
  return (
    <FormDialog
      title={t('sshCa.revoke')}
      lead={
        certificate === undefined
          ? t('sshCa.revoke.lead')
          : t('sshCa.revoke.this', { serial: certificate.serial, keyId: certificate.keyId })
      }
      submit={t('sshCa.revoke')}
      action={action}
      isDanger
      onClose={onClose}
      fields={[...(certificate === undefined ? what : []), { name: 'reason', label: t('sshCa.reason') }]}
    />
  );
}
