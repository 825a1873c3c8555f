import { issueSshCertificate } from '../../api/generated/sdk.gen.js';
import type { SshAuthorityView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { type Field, textOf, type Values } from '../../patterns/form-fields.js';
import { useToast } from '../../patterns/toasts.js';
import { useAction } from '../../patterns/use-action.js';
import { useLimitFields } from './certificate-limits.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** CLOCK_SKEW_MS is the tolerated clock skew of hosts. */
const CLOCK_SKEW_MS = 5 * MINUTE;
const WORKING_DAY = 8;
const YEAR = 365 * 24;

/** certificateBodyOf returns the request body. The certificate is valid for the given hours from `now`. */
function certificateBodyOf({ hours, renewUntil, renewFrom, ...values }: Values, now: number) {
  return {
    ...values,
    ...(renewUntil === undefined ? {} : { renewal: { until: renewUntil, sourceAddress: renewFrom } }),
    validAfter: new Date(now - CLOCK_SKEW_MS).toISOString(),
    validBefore: new Date(now + Number(hours) * HOUR).toISOString(),
  } as never;
}

export function IssueCertificate({ authority, onClose }: { authority: SshAuthorityView; onClose: () => void }) {
  const { t } = useI18n();
  const notify = useToast();
  const { id, kind } = authority;
  const action = useAction(
    (values: Values, once, since) =>
      issueSshCertificate({ path: { id }, body: certificateBodyOf(values, since), headers: once }),
    {
      changes: ['listSshCertificates'],
      onDone: ({ status }) => notify(t(status === 'PENDING_APPROVAL' ? 'sshCa.approvalRequested' : 'sshCa.issued')),
    },
  );
  const isForHost = kind === 'host';
  const ofUsers = useLimitFields(undefined);
  const ofHosts: Field[] = [
    { name: 'renewUntil', kind: 'day', label: t('sshCa.renewal'), hint: t('sshCa.renewal.hint') },
    {
      name: 'renewFrom',
      label: t('sshCa.renewal.from'),
      hint: t('sshCa.renewal.from.hint'),
      when: ({ renewUntil }) => textOf(renewUntil) !== '',
    },
  ];
  return (
    <FormDialog
      title={t('sshCa.issue')}
      lead={t('sshCa.issue.lead')}
      submit={t('sshCa.issue')}
      action={action}
      onClose={onClose}
      fields={[
        {
          name: 'publicKey',
          kind: 'area',
          label: t('signature.publicKey'),
          isRequired: true,
          placeholder: 'ssh-ed25519 AAAA…',
        },
        { name: 'keyId', label: t('sshCa.keyId'), isRequired: true, hint: t('sshCa.keyId.hint') },
        {
          name: 'principals',
          kind: 'lines',
          label: t('sshCa.principals'),
          isRequired: true,
          hint: t(isForHost ? 'sshCa.principals.host' : 'sshCa.principals.user'),
        },
        {
          name: 'hours',
          kind: 'number',
          label: t('sshCa.hours'),
          isRequired: true,
          min: 1,
          value: isForHost ? YEAR : WORKING_DAY,
        },
        ...(isForHost ? ofHosts : ofUsers),
      ]}
    />
  );
}
