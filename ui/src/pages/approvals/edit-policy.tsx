import { ifMatch } from '../../api/client.js';
import { changeApprovalPolicy, createApprovalPolicy } from '../../api/generated/sdk.gen.js';
import type { ApprovalPolicyBody, ApprovalPolicyView, ApproverGroupView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';
import { secondsOf, wholeHours } from '../../patterns/whole-hours.js';
import { conditionsFrom, useConditionFields } from './policy-conditions.js';
import { TriedRequests, tryOnPast } from './policy-trial.js';
import { DraftWarnings } from './policy-warnings.js';

const DAY = 24 * 3600;
const SUBJECTS: readonly ApprovalPolicyView['subject'][] = ['signing-request', 'ssh-rotation', 'ssh-certificate'];

interface EditPolicyProps {
  readonly of?: ApprovalPolicyView;
  readonly groups: readonly ApproverGroupView[];
  readonly onClose: () => void;
}

/** EditPolicy creates or edits an approval policy. The draft can be tested on past requests before it is saved. */
export function EditPolicy({ of, groups, onClose }: EditPolicyProps) {
  const { t } = useI18n();
  const action = useAction(
    async (values: Values, once): Promise<{ data: unknown }> => {
      const body = policyFrom(values, of);
      return of === undefined
        ? createApprovalPolicy({ body, headers: once })
        : changeApprovalPolicy({ path: { id: of.id }, body, headers: ifMatch(of.version) });
    },
    { changes: ['listApprovalPolicies'], done: t('saved') },
  );
  const trial = useAction(async (values: Values) => ({ data: await tryOnPast(policyFrom(values, of)) }), {
    changes: [],
  });
  const fields = usePolicyFields(of, groups);
  return (
    <FormDialog
      title={of?.name ?? t('policies.create')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={fields}
      note={(values) => <DraftWarnings draft={policyFrom(values, of)} />}
      trial={{
        name: t('policies.trial'),
        action: trial,
        // Past rotations are not stored in a form that a policy can evaluate.
        when: ({ subject }) => subject !== 'ssh-rotation',
        found: trial.data !== undefined && <TriedRequests tried={trial.data} />,
      }}
    />
  );
}

function policyFrom({ hours, conditions, unless, ...rest }: Values, of: ApprovalPolicyView | undefined) {
  return {
    ...rest,
    ...(hours === undefined ? {} : { expiresInSeconds: secondsOf(Number(hours), of?.expiresInSeconds) }),
    conditions: conditionsFrom(conditions),
    unless: conditionsFrom(unless),
  } as unknown as ApprovalPolicyBody;
}

function usePolicyFields(of: ApprovalPolicyView | undefined, groups: readonly ApproverGroupView[]): Field[] {
  const { t, named } = useI18n();
  const conditions = useConditionFields(of);
  const stages = useStagesField(of, groups);
  return [
    { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '' },
    {
      name: 'subject',
      kind: 'choice',
      label: t('policies.subject'),
      isRequired: true,
      options: SUBJECTS.map((value) => ({ value, label: named('subject', value) })),
      value: of?.subject ?? 'signing-request',
    },
    {
      name: 'keys',
      kind: 'lines',
      label: t('policies.keys'),
      isRequired: true,
      hint: t('policies.keys.hint'),
      value: of?.keys.join('\n') ?? '',
    },
    stages,
    ...conditions,
    {
      name: 'hours',
      kind: 'number',
      label: t('policies.hours'),
      min: 1,
      value: wholeHours(of?.expiresInSeconds ?? DAY),
    },
    {
      name: 'rejectThreshold',
      kind: 'number',
      label: t('policies.rejections'),
      min: 1,
      value: of?.rejectThreshold ?? 1,
    },
    { name: 'commentRequired', kind: 'yes', label: t('policies.comment'), value: of?.commentRequired ?? false },
  ];
}

function useStagesField(of: ApprovalPolicyView | undefined, groups: readonly ApproverGroupView[]): Field {
  const { t } = useI18n();
  const nameOf = (id: string) => groups.find((group) => group.id === id)?.name ?? id;
  const stages = of?.stages.map(({ threshold, group, ...others }) => ({
    ...others,
    threshold: String(threshold),
    group: nameOf(group),
  }));
  return {
    name: 'stages',
    kind: 'rows',
    label: t('policies.stages'),
    isRequired: true,
    hint: t('policies.stages.hint'),
    add: t('policies.stages.add'),
    columns: [
      { name: 'threshold', label: t('policies.threshold'), kind: 'number' },
      {
        name: 'group',
        label: t('policies.group'),
        options: groups.map(({ name }) => ({ value: name, label: name })),
      },
    ],
    ...(stages === undefined ? {} : { value: stages }),
  };
}
