import type { ApprovalPolicyView, JudgedConditionView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { ConditionLine, exampleOf, OTHER_CLAIM, useClaimOptions } from '../../patterns/claim-conditions.js';
import type { Field, FieldValue, Option, Row } from '../../patterns/form-fields.js';
import { People } from '../../patterns/person.js';

type Policy = Pick<ApprovalPolicyView, 'conditions' | 'unless'>;
type Condition = Policy['conditions'][number];

const VERIFIED = 'verified.';
const METADATA = 'metadata.';
/** Facts of the request, each with an example value. */
const REQUEST_FACTS: Readonly<Record<string, string>> = {
  format: 'authenticode',
  algorithm: 'sha256',
  scheme: 'rsa-pss',
  caller: '',
};
const OPERATORS: readonly Condition['op'][] = ['in', 'not-in'];

/** useFactName returns a function that maps a fact to its display name: `verified.ref` is "Branch or tag". */
export function useFactName(): (fact: string) => string {
  const { t, named } = useI18n();
  return (fact) => {
    if (fact.startsWith(VERIFIED)) return named('claim', fact.slice(VERIFIED.length));
    if (fact.startsWith(METADATA)) return t('fact.clientProvided', { name: fact.slice(METADATA.length) });
    return named('fact', fact);
  };
}

/** PolicyConditions shows the conditions and exceptions of a policy. A policy without conditions always applies. */
export function PolicyConditions({ policy: { conditions, unless } }: { policy: Policy }) {
  const { t } = useI18n();
  if (conditions.length === 0 && unless.length === 0) return <span className="sw-muted">{t('policies.always')}</span>;
  return (
    <>
      <Conditions name={t('policies.conditions')} of={conditions} />
      <Conditions name={t('policies.unless')} of={unless} />
    </>
  );
}

function Conditions({ name, of }: { name: string; of: readonly Condition[] }) {
  const nameOf = useFactName();
  if (of.length === 0) return null;
  return (
    <>
      <div>{name}</div>
      <ul className="sw-conditions">
        {of.map(({ fact, op, values }) => (
          <ConditionLine
            key={`${fact} ${op} ${values.join(' ')}`}
            name={nameOf(fact)}
            isNot={op === 'not-in'}
            values={fact === 'caller' ? values.map((id) => <People key={id} ids={[id]} />) : values}
          />
        ))}
      </ul>
    </>
  );
}

/** Judged shows conditions with the request's values. */
export function Judged({ conditions }: { conditions: readonly JudgedConditionView[] }) {
  const { t } = useI18n();
  const nameOf = useFactName();
  return (
    <ul className="sw-conditions">
      {conditions.map(({ fact, op, values, given }) => (
        <ConditionLine
          key={`${fact} ${op} ${values.join(' ')}`}
          name={nameOf(fact)}
          values={given.length === 0 ? [t('policies.trial.notStated')] : given}
        />
      ))}
    </ul>
  );
}

/** useConditionFields returns the form fields for the conditions and exceptions of a policy. */
export function useConditionFields(of: Policy | undefined): Field[] {
  const { t } = useI18n();
  const nameOf = useFactName();
  const verified = useVerifiedOptions();
  const others = useRequestOptions();
  const said = { value: METADATA, label: t('fact.metadata'), group: t('fact.group.clientProvided') };
  const field = (name: keyof Policy, options: readonly Option[]): Field => ({
    name,
    kind: 'rows',
    label: t(`policies.${name}.label`),
    hint: t(`policies.${name}.hint`),
    add: t(`policies.${name}.add`),
    columns: [
      { name: 'fact', label: t('policies.fact'), options },
      {
        name: 'name',
        label: t('policies.factName'),
        placeholder: ({ fact }) => (fact === METADATA ? 'ticket' : 'repository_owner'),
        when: ({ fact }) => fact === VERIFIED + OTHER_CLAIM || fact === METADATA,
      },
      {
        name: 'op',
        label: t('policies.op'),
        options: OPERATORS.map((value) => ({ value, label: t(`policies.op.${value}`) })),
      },
      {
        name: 'values',
        label: t('claims.values'),
        kind: 'lines',
        placeholder: ({ fact = '' }) =>
          fact.startsWith(VERIFIED) ? exampleOf(fact.slice(VERIFIED.length)) : (REQUEST_FACTS[fact] ?? ''),
      },
    ],
    value: (of?.[name] ?? []).map((condition) => rowOf(condition, options)),
  });
  // Exceptions must use verified facts. Stored exceptions that use other facts are shown, so that they can be removed.
  const caller = others.filter(({ value }) => value === 'caller');
  const stored = (of?.unless ?? [])
    .map(({ fact }) => fact)
    .filter((fact) => fact !== 'caller' && fact !== 'trust' && !fact.startsWith(VERIFIED))
    .map((value) => ({ value, label: nameOf(value) }));
  return [field('conditions', [...verified, ...others, said]), field('unless', [...verified, ...caller, ...stored])];
}

function useVerifiedOptions(): Option[] {
  const { t, named } = useI18n();
  const group = t('fact.group.verified');
  const claims = useClaimOptions().map(({ value, label }) => ({ value: `${VERIFIED}${value}`, label, group }));
  return [...claims, { value: 'trust', label: named('fact', 'trust'), group }];
}

function useRequestOptions(): Option[] {
  const { t, named } = useI18n();
  const group = t('fact.group.request');
  return Object.keys(REQUEST_FACTS).map((value) => ({ value, label: named('fact', value), group }));
}

function rowOf({ fact, op, values, ...others }: Condition, options: readonly Option[]): Row {
  const cells = { ...others, op, values: values.join('\n') };
  if (options.some(({ value }) => value === fact)) return { ...cells, fact, name: '' };
  const prefix = fact.startsWith(METADATA) ? METADATA : VERIFIED;
  return { ...cells, fact: prefix, name: fact.slice(prefix.length) };
}

interface ConditionRow {
  readonly fact?: string;
  readonly name?: string;
  readonly op?: Condition['op'];
  readonly values?: readonly string[];
}

/** conditionsFrom returns the conditions in the rows of a form. A row without values is sent unchanged, so that the service reports what is missing. */
export const conditionsFrom = (value: FieldValue): Condition[] =>
  (Array.isArray(value) ? (value as ConditionRow[]) : []).map(
    ({ fact = '', name = '', op = 'in', values = [], ...others }) => ({
      ...others,
      fact: fact === VERIFIED || fact === METADATA ? fact + name : fact,
      op,
      values: [...values],
    }),
  );
