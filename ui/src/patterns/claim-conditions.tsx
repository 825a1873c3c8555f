import { useI18n } from '../i18n/i18n.js';
import type { Field, FieldValue } from './form-fields.js';

/** A condition on a claim as the API has it. */
export interface ClaimCondition {
  readonly claim: string;
  readonly values: readonly string[];
}

/** Conditions as lists show them: one claim a line, its values beside it. */
export function ClaimConditions({ conditions }: { conditions: readonly ClaimCondition[] }) {
  const { t } = useI18n();
  return (
    <ul className="sw-conditions">
      {conditions.map(({ claim, values }) => (
        <li key={`${claim} ${values.join(' ')}`}>
          <span className="sw-muted">{claim}</span>{' '}
          {values.map((value, index) => (
            <span key={value}>
              {index > 0 && <span className="sw-muted"> {t('claims.or')} </span>}
              <span className="sw-mono">{value}</span>
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

/** The field of a form for conditions on claims. */
export function useConditionsField(value: readonly ClaimCondition[] | undefined): Field {
  const { t } = useI18n();
  const rows = value?.map(({ claim, values }) => ({ claim, values: values.join('\n') }));
  return {
    name: 'conditions',
    kind: 'rows',
    label: t('claims.conditions'),
    isRequired: true,
    hint: t('claims.conditions.hint'),
    add: t('claims.conditions.add'),
    columns: [
      { name: 'claim', label: t('claims.claim'), placeholder: 'repository' },
      { name: 'values', label: t('claims.values'), kind: 'lines', placeholder: 'org/app' },
    ],
    ...(rows === undefined ? {} : { value: rows }),
  };
}

/** A row without values is sent as it is, so that the service says what is missing. */
export const conditionsIn = (value: FieldValue): ClaimCondition[] =>
  (Array.isArray(value) ? (value as Partial<ClaimCondition>[]) : []).map(({ claim = '', values = [] }) => ({
    claim,
    values,
  }));
