import { teachName } from '../../api/generated/sdk.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { textOf, type Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

interface TeachNameProps {
  /** The name that was not read; empty to enter one. */
  readonly name?: string;
  readonly onClose: () => void;
}

/** Teaches what a name of an algorithm stands for; all assets are then judged anew. */
export function TeachNameDialog({ name = '', onClose }: TeachNameProps) {
  const { t } = useI18n();
  const action = useAction(
    (values: Values) =>
      teachName({
        body: { name: textOf(values['name']), means: textOf(values['means']), reason: textOf(values['reason']) },
      }),
    {
      changes: ['listOwnNames', 'getAsset', 'listAssets', 'getSummary', 'listRiskRules'],
      done: t('names.taught'),
    },
  );
  return (
    <FormDialog
      title={t('names.teach')}
      lead={t('names.teach.lead')}
      submit={t('names.teach')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('names.name'), isRequired: true, value: name, placeholder: 'PaymentCipher' },
        {
          name: 'means',
          label: t('names.means'),
          hint: t('names.means.hint'),
          isRequired: true,
          value: '',
          placeholder: 'AES-256-GCM',
        },
        { name: 'reason', kind: 'area', label: t('names.reason'), isRequired: true, value: '' },
      ]}
    />
  );
}
