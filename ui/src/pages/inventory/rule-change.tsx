import { useRef, useState } from 'react';
import { testRiskRule } from '../../api/generated/sdk.gen.js';
import type { RuleBody, RuleView, TrialView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { type Field, type Row, textOf, type Values } from '../../patterns/form-fields.js';
import { LEVELS } from '../../patterns/labels.js';
import { useAction } from '../../patterns/use-action.js';
import { AXES } from './rule-axes.js';
import { RuleTrial } from './rule-trial.js';

/** RuleDraft is the changed rule. It is undefined if the rule is to be removed. */
export interface RuleDraft {
  readonly id: string;
  readonly rule?: RuleBody;
}

interface Tested {
  readonly draft: RuleDraft;
  readonly trial: TrialView;
}

interface RuleChangeProps {
  readonly kind: 'put' | 'remove';
  /** Current version, or undefined for a new rule. */
  readonly rule?: RuleView;
  /** Version of the rule set, sent as If-Match to prevent overwriting concurrent changes. */
  readonly version: number;
  readonly onClose: () => void;
}

/** RuleChange edits a rule. The change is previewed before it is applied. */
export function RuleChange({ version, ...change }: RuleChangeProps) {
  const [tested, setTested] = useState<Tested>();
  const [isShown, setShown] = useState(false);
  const { kind, onClose } = change;
  if (tested === undefined || !isShown)
    return (
      <RuleForm
        {...change}
        draft={tested?.draft}
        onTested={(result) => {
          setTested(result);
          setShown(true);
        }}
      />
    );
  const back = kind === 'put' ? { onBack: () => setShown(false) } : {};
  return <RuleTrial {...tested} version={version} {...back} onClose={onClose} />;
}

interface RuleFormProps extends Omit<RuleChangeProps, 'version'> {
  /** Values entered before the preview. */
  readonly draft: RuleDraft | undefined;
  readonly onTested: (tested: Tested) => void;
}

function RuleForm({ kind, rule, draft, onTested, onClose }: RuleFormProps) {
  const { t } = useI18n();
  const tested = useRef<Tested>(undefined);
  const fields = useFields(draft?.rule ?? rule ?? NEW);
  const action = useAction(
    async (values: Values) => {
      const change = kind === 'remove' && rule !== undefined ? { id: rule.id } : draftOf(values, rule?.id);
      const answer = await testRiskRule({ body: change });
      tested.current = { draft: change, trial: answer.data };
      return answer;
    },
    { changes: [] },
  );
  const id: Field = {
    name: 'id',
    label: t('rules.rule'),
    isRequired: true,
    value: draft?.id ?? '',
    placeholder: 'HOUSE-RSA-1',
  };
  const all = rule === undefined ? [id, ...fields] : fields;
  return (
    <FormDialog
      title={t(kind === 'remove' ? 'rules.remove' : rule === undefined ? 'rules.create' : 'rules.change')}
      lead={t(kind === 'remove' ? 'rules.remove.lead' : 'rules.change.lead')}
      submit={t('rules.test')}
      action={action}
      fields={kind === 'remove' ? [] : all}
      onClose={() => (tested.current === undefined ? onClose() : onTested(tested.current))}
    />
  );
}

function draftOf({ id, deadlines, standards = [], target, ...rest }: Values, known: string | undefined): RuleDraft {
  const rule = {
    ...rest,
    standards,
    deadlines: (deadlines as Row[]).map(deadlineOf),
    ...(target === undefined ? {} : { target }),
  };
  return { id: known ?? textOf(id), rule: rule as unknown as RuleBody };
}

function deadlineOf({ weight, verified, appliesTo, provision, url, ...row }: Row) {
  return {
    ...row,
    ...weightOf(weight),
    ...(appliesTo === undefined || appliesTo === '' ? {} : { appliesTo }),
    ...(provision === undefined || provision === '' ? {} : { provision }),
    ...(url === undefined || url === '' ? {} : { url }),
    ...(verified === undefined || verified === '' ? {} : { verified: verified === 'yes' }),
  };
}

/** Legal force of a deadline: binding or recommended, final or draft. */
const WEIGHTS = ['binding', 'advice', 'binding-draft', 'advice-draft'] as const;

const weightOf = (weight = '') => ({ binding: weight.startsWith('binding'), draft: weight.endsWith('draft') });

const NEW: RuleBody = {
  axis: 'both',
  level: 'HIGH',
  match: { family: ['RSA'], bits: [0, 3071] },
  status: '',
  reason: '',
  standards: [],
  deadlines: [],
  verified: false,
};

function useFields(rule: RuleView | RuleBody): Field[] {
  const { t, named } = useI18n();
  const rows = rule.deadlines.map(({ binding, draft, appliesTo = '', provision = '', url = '', verified, ...row }) => ({
    ...row,
    appliesTo,
    provision,
    url,
    verified: verified === undefined ? '' : verified ? 'yes' : 'no',
    weight: `${binding ? 'binding' : 'advice'}${draft ? '-draft' : ''}`,
  }));
  return [
    {
      name: 'axis',
      kind: 'choice',
      label: t('finding.axis'),
      isRequired: true,
      options: AXES.map((value) => ({ value, label: named('axis', value) })),
      value: rule.axis,
    },
    {
      name: 'level',
      kind: 'choice',
      label: t('level'),
      isRequired: true,
      options: LEVELS.map((value) => ({ value, label: named('level', value) })),
      value: rule.level,
    },
    {
      name: 'match',
      kind: 'json',
      label: t('rules.match'),
      hint: t('rules.match.hint'),
      isRequired: true,
      value: rule.match,
    },
    {
      name: 'status',
      label: t('finding.status'),
      isRequired: true,
      value: rule.status,
      placeholder: 'quantum-vulnerable',
    },
    { name: 'reason', kind: 'area', label: t('rules.reason'), isRequired: true, value: rule.reason },
    { name: 'target', label: t('finding.target'), value: rule.target ?? '' },
    {
      name: 'standards',
      kind: 'lines',
      label: t('finding.standards'),
      hint: t('rules.standards.hint'),
      value: rule.standards.join('\n'),
    },
    {
      name: 'deadlines',
      kind: 'rows',
      label: t('finding.deadlines'),
      add: t('rules.deadline.add'),
      value: rows,
      columns: [
        { name: 'date', label: t('rules.deadline.date'), placeholder: '2030-12-31' },
        { name: 'state', label: t('rules.deadline.state'), placeholder: 'disallowed' },
        { name: 'authority', label: t('rules.deadline.authority') },
        { name: 'jurisdiction', label: t('rules.deadline.jurisdiction') },
        {
          name: 'weight',
          label: t('rules.deadline.weight'),
          options: WEIGHTS.map((value) => ({ value, label: named('weight', value) })),
        },
        { name: 'appliesTo', label: t('rules.deadline.appliesTo'), isOptional: true },
        { name: 'provision', label: t('rules.deadline.provision'), isOptional: true },
        { name: 'url', label: t('rules.deadline.url'), isOptional: true },
        {
          name: 'verified',
          label: t('rules.deadline.verified'),
          options: ['yes', 'no'].map((value) => ({ value, label: named('verified', value) })),
        },
      ],
    },
    { name: 'verified', kind: 'yes', label: t('rules.verified'), value: rule.verified },
  ];
}
