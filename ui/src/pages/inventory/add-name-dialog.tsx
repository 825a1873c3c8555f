import { teachName } from '../../api/generated/sdk.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { textOf, type Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

interface TeachNameProps {
  /** The unrecognized name, or empty to enter one. */
  readonly name?: string;
  readonly onClose: () => void;
}

/** AddNameDialog maps a custom name to a known algorithm. All assets are then reassessed. */
export function AddNameDialog({ name = '', onClose }: TeachNameProps) {
  const { t } = useI18n();
  const action = useAction(
    (values: Values) =>
      teachName({
        body: { name: textOf(values['name']), means: textOf(values['means']), reason: textOf(values['reason']) },
      }),
    {
      changes: ['listOwnNames', 'getAsset', 'listAssets', 'getSummary', 'listRiskRules'],
      done: t('names.added'),
    },
  );
  return (
    <FormDialog
      title={t('names.add')}
      lead={t('names.add.lead')}
      submit={t('names.add')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('names.name'), isRequired: true, value: name, placeholder: 'PaymentCipher' },
        {
          name: 'means',
          label: t('names.algorithm'),
          hint: t('names.algorithm.hint'),
          isRequired: true,
          value: '',
          placeholder: 'AES-256-GCM',
        },
        { name: 'reason', kind: 'area', label: t('names.reason'), isRequired: true, value: '' },
      ]}
    />
  );
}
