import { onceOnly } from '../../api/client.js';
import { addPolicyPack } from '../../api/generated/sdk.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

const MOST_DAYS = 3660;

/** A policy of one's own: requirements that a query checks, or a person judges. */
export function PolicyPackDialog({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((values: Values) => addPolicyPack({ body: values as never, headers: onceOnly() }), {
    changes: ['listPolicyPacks'],
    done: t('saved'),
  });
  return (
    <FormDialog
      title={t('policyPacks.create')}
      lead={t('policyPacks.create.lead')}
      submit={t('create')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true },
        { name: 'version', label: t('version'), isRequired: true, value: '1.0' },
        { name: 'owner', label: t('policyPacks.owner'), isRequired: true },
        { name: 'description', kind: 'area', label: t('policyPacks.about'), isRequired: true },
        {
          name: 'reviewEveryDays',
          kind: 'number',
          label: t('policyPacks.review'),
          isRequired: true,
          min: 1,
          max: MOST_DAYS,
          value: 365,
        },
        {
          name: 'requirements',
          kind: 'rows',
          label: t('attestations.results'),
          hint: t('policyPacks.requirements.hint'),
          isRequired: true,
          add: t('policyPacks.requirements.add'),
          columns: [
            { name: 'identifier', label: t('id'), placeholder: 'CRYPTO-1' },
            { name: 'text', label: t('attestations.requirement') },
            { name: 'q', label: t('policyPacks.query'), placeholder: 'family=RSA and bits<3072', isOptional: true },
          ],
        },
      ]}
    />
  );
}
