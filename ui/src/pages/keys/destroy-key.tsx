import { scheduleDestruction } from '../../api/generated/sdk.gen.js';
import type { SigningKeyView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

interface Props {
  readonly signingKey: SigningKeyView;
  readonly onClose: () => void;
}

/** DestroyKey schedules the destruction of a key. The key stops signing immediately; its private keys are destroyed after the waiting period. */
export function DestroyKey({ signingKey: { id, name }, onClose }: Props) {
  const { t } = useI18n();
  const action = useAction((values: Values) => scheduleDestruction({ path: { id }, body: values }), {
    changes: ['getSigningKey', 'listSigningKey'],
    done: t('key.destructionScheduled'),
  });
  return (
    <FormDialog
      title={t('key.destroy')}
      lead={t('key.destroy.lead', { name })}
      submit={t('key.destroy')}
      action={action}
      isDanger
      onClose={onClose}
      fields={[
        { name: 'days', kind: 'number', label: t('key.destroy.days'), isRequired: true, min: 7, max: 30, value: 30 },
      ]}
    />
  );
}
