import { useI18n } from '../../i18n/i18n.js';
import type { Field } from '../../patterns/form-fields.js';

const EXTENSIONS = [
  'permit-pty',
  'permit-agent-forwarding',
  'permit-port-forwarding',
  'permit-X11-forwarding',
  'permit-user-rc',
];

interface Limits {
  readonly sourceAddress: string | null;
  readonly forceCommand: string | null;
  readonly extensions: readonly string[];
}

/** useLimitFields returns the fields that restrict a user certificate: source addresses, forced command and extensions. */
export function useLimitFields(of: Limits | undefined): Field[] {
  const { t } = useI18n();
  return [
    {
      name: 'sourceAddress',
      label: t('sshCa.sourceAddress'),
      hint: t('sshCa.sourceAddress.hint'),
      value: of?.sourceAddress ?? '',
    },
    {
      name: 'forceCommand',
      label: t('sshCa.forceCommand'),
      hint: t('sshCa.forceCommand.hint'),
      value: of?.forceCommand ?? '',
    },
    {
      name: 'extensions',
      kind: 'choices',
      label: t('sshCa.extensions'),
      options: EXTENSIONS.map((value) => ({ value, label: value })),
      value: of?.extensions ?? ['permit-pty'],
    },
  ];
}
