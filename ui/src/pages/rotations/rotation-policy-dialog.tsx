import { onceOnly } from '../../api/client.js';
import { createRotationPolicy } from '../../api/generated/sdk.gen.js';
import type { RotationPolicyBody } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

const HOUR = 3600;
const LAST_HOUR = 23;

/** As the API takes it: seconds, and hours only where they are kept to. */
function bodyOf({ overlapHours, isWindowed: _asked, from, to, ...values }: Values): RotationPolicyBody {
  const overlap = overlapHours === undefined ? {} : { overlapSeconds: Number(overlapHours) * HOUR };
  return { ...values, ...overlap, ...(from === undefined ? {} : { window: { from, to } }) } as never;
}

export function RotationPolicyDialog({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((values: Values) => createRotationPolicy({ body: bodyOf(values), headers: onceOnly() }), {
    changes: ['listRotationPolicies'],
    done: t('saved'),
  });
  const isWindowed = (values: Values) => values['isWindowed'] === true;
  return (
    <FormDialog
      title={t('rotationPolicies.create')}
      lead={t('rotationPolicies.create.lead')}
      submit={t('create')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true },
        {
          name: 'maxAgeDays',
          kind: 'number',
          label: t('rotationPolicies.maxAge'),
          isRequired: true,
          min: 1,
          max: 3650,
          value: 365,
        },
        { name: 'keyOwner', label: t('rotationPolicies.owner'), hint: t('rotationPolicies.owner.hint') },
        { name: 'mostPerHour', kind: 'number', label: t('rotationPolicies.mostPerHour'), min: 1, max: 100, value: 5 },
        {
          name: 'overlapHours',
          kind: 'number',
          label: t('rotationPolicies.overlap'),
          hint: t('rotationPolicies.overlap.hint'),
          min: 1,
          max: 2160,
          value: 24,
        },
        {
          name: 'onFailure',
          kind: 'choice',
          label: t('sshKeys.rotate.onFailure'),
          isRequired: true,
          options: [
            { value: 'halt', label: t('sshKeys.rotate.halt') },
            { value: 'skip', label: t('sshKeys.rotate.skip') },
          ],
        },
        { name: 'isWindowed', kind: 'yes', label: t('rotationPolicies.window.only') },
        {
          name: 'from',
          kind: 'number',
          label: t('rotationPolicies.window.from'),
          isRequired: true,
          min: 0,
          max: LAST_HOUR,
          value: 22,
          when: isWindowed,
        },
        {
          name: 'to',
          kind: 'number',
          label: t('rotationPolicies.window.to'),
          hint: t('rotationPolicies.window.to.hint'),
          isRequired: true,
          min: 0,
          max: LAST_HOUR,
          value: 4,
          when: isWindowed,
        },
        {
          name: 'ignoreManagers',
          kind: 'yes',
          label: t('rotationPolicies.ignoreManagers'),
          hint: t('rotationPolicies.ignoreManagers.hint'),
        },
      ]}
    />
  );
}
