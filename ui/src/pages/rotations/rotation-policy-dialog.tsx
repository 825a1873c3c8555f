import { ifMatch } from '../../api/client.js';
import { changeRotationPolicy, createRotationPolicy } from '../../api/generated/sdk.gen.js';
import type { RotationPolicyBody, RotationPolicyView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';
import { secondsOf, wholeHours } from '../../patterns/whole-hours.js';

const LAST_HOUR = 23;

type Terms = Omit<RotationPolicyView, 'id' | 'heldBack' | 'madeBy' | 'version' | 'createdAt' | 'dueAt'>;

interface Props {
  /** Undefined for a new policy. */
  readonly of?: RotationPolicyView;
  readonly onClose: () => void;
}

/** bodyOf returns the request body, with durations in seconds and a window only if one is set. */
function bodyOf(
  { overlapHours, isWindowed: _asked, from, to, ...values }: Values,
  before?: number,
): RotationPolicyBody {
  const overlap = overlapHours === undefined ? {} : { overlapSeconds: secondsOf(Number(overlapHours), before) };
  return { ...values, ...overlap, ...(from === undefined ? {} : { window: { from, to } }) } as never;
}

export function RotationPolicyDialog({ of, onClose }: Props) {
  const { t } = useI18n();
  const action = useAction(
    (values: Values, once): Promise<{ data: unknown }> =>
      of === undefined
        ? createRotationPolicy({ body: bodyOf(values), headers: once })
        : changeRotationPolicy({
            path: { id: of.id },
            body: bodyOf(values, of.overlapSeconds),
            headers: ifMatch(of.version),
          }),
    { changes: ['listRotationPolicies'], done: t('saved') },
  );
  return (
    <FormDialog
      title={of?.name ?? t('rotationPolicies.create')}
      lead={of === undefined ? t('rotationPolicies.create.lead') : t('rotationPolicies.change.lead')}
      submit={of === undefined ? t('create') : t('save')}
      action={action}
      onClose={onClose}
      fields={fieldsOf(t, of ?? NEW)}
    />
  );
}

/** Defaults of a new policy. */
const NEW: Terms = {
  name: '',
  maxAgeDays: 365,
  mostPerHour: 5,
  overlapSeconds: 24 * 3600,
  onFailure: 'halt',
  ignoreManagers: false,
};
const NIGHT = { from: 22, to: 4 };

function fieldsOf(t: ReturnType<typeof useI18n>['t'], terms: Terms): Field[] {
  const { name, maxAgeDays, keyOwner = '', mostPerHour, overlapSeconds, onFailure, ignoreManagers, window } = terms;
  const hours = window ?? NIGHT;
  const isWindowed = (values: Values) => values['isWindowed'] === true;
  return [
    { name: 'name', label: t('name'), isRequired: true, value: name },
    {
      name: 'maxAgeDays',
      kind: 'number',
      label: t('rotationPolicies.maxAge'),
      isRequired: true,
      min: 1,
      max: 3650,
      value: maxAgeDays,
    },
    {
      name: 'keyOwner',
      label: t('rotationPolicies.owner'),
      hint: t('rotationPolicies.owner.hint'),
      value: keyOwner,
    },
    {
      name: 'mostPerHour',
      kind: 'number',
      label: t('rotationPolicies.mostPerHour'),
      min: 1,
      max: 100,
      value: mostPerHour,
    },
    {
      name: 'overlapHours',
      kind: 'number',
      label: t('rotationPolicies.overlap'),
      hint: t('rotationPolicies.overlap.hint'),
      min: 1,
      max: 2160,
      value: wholeHours(overlapSeconds),
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
      value: onFailure,
    },
    {
      name: 'isWindowed',
      kind: 'yes',
      label: t('rotationPolicies.window.only'),
      value: window !== undefined,
    },
    {
      name: 'from',
      kind: 'number',
      label: t('rotationPolicies.window.from'),
      isRequired: true,
      min: 0,
      max: LAST_HOUR,
      value: hours.from,
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
      value: hours.to,
      when: isWindowed,
    },
    {
      name: 'ignoreManagers',
      kind: 'yes',
      label: t('rotationPolicies.ignoreManagers'),
      hint: t('rotationPolicies.ignoreManagers.hint'),
      value: ignoreManagers,
    },
  ];
}
