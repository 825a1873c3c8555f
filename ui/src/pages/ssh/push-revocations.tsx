import { useQuery } from '@tanstack/react-query';
import { listHostsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { pushSshRevocationList } from '../../api/generated/sdk.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useToast } from '../../patterns/toasts.js';
import { useAction } from '../../patterns/use-action.js';

/** PushRevocations sends the KRL to managed hosts and reports the hosts that did not receive it. */
export function PushRevocations({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useI18n();
  const notify = useToast();
  const hosts = useQuery(listHostsOptions({ query: { limit: 200 } }));
  const managed = hosts.data?.items.filter(({ managementMode }) => managementMode === 'managed') ?? [];
  const nameOf = (hostId: string) => managed.find((host) => host.id === hostId)?.name ?? hostId;
  const action = useAction((values: Values) => pushSshRevocationList({ path: { id }, body: values as never }), {
    changes: [],
    onDone: ({ items }) => {
      const failed = items.filter(({ done }) => !done);
      if (failed.length < items.length) notify(t('sshCa.pushed', { count: items.length - failed.length }));
      for (const { hostId, code } of failed)
        notify(t('sshCa.notPushed', { name: nameOf(hostId), code: code ?? '' }), 'danger');
    },
  });
  return (
    <FormDialog
      title={t('sshCa.push')}
      lead={t(managed.length === 0 ? 'sshCa.push.none' : 'sshCa.push.lead')}
      submit={t('sshCa.push')}
      action={action}
      onClose={onClose}
      fields={[
        {
          name: 'hostIds',
          kind: 'choices',
          label: t('nav.hosts'),
          isRequired: true,
          options: managed.map((host) => ({ value: host.id, label: host.name })),
        },
        {
          name: 'path',
          label: t('sshCa.path'),
          hint: t('sshCa.path.hint'),
          placeholder: '/etc/ssh/revoked_keys',
        },
      ]}
    />
  );
}
