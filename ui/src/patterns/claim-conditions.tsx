import { Fragment, type ReactNode } from 'react';
import { useI18n } from '../i18n/i18n.js';
import type { Field, FieldValue, Option, Row } from './form-fields.js';

/** ClaimCondition is a condition on a claim, as in the API. */
export interface ClaimCondition {
  readonly claim: string;
  readonly values: readonly string[];
}

/** Claims documented by build systems, each with an example value. Each has a name in the catalog. */
const EXAMPLES: Readonly<Record<string, string>> = {
  repository: 'org/app',
  ref: 'refs/tags/v*',
  workflow_ref: 'org/app/.github/workflows/release.yml@refs/tags/v*',
  job_workflow_ref: 'org/shared/.github/workflows/release.yml@refs/tags/v*',
  runner_environment: 'self-hosted',
  environment: 'production',
  project_path: 'group/app',
  ref_protected: 'true',
  sub: 'system:serviceaccount:ci:release',
};

/** Form value for a claim that the form does not offer by name. */
export const OTHER_CLAIM = '';

export const isOfferedClaim = (claim: string): boolean => Object.hasOwn(EXAMPLES, claim);
export const exampleOf = (claim: string | undefined): string => EXAMPLES[claim ?? ''] ?? '';

/** useClaimOptions returns the claims that forms offer by name, and an option for any other claim. */
export function useClaimOptions(): Option[] {
  const { t, named } = useI18n();
  const offered = Object.keys(EXAMPLES).map((value) => ({ value, label: named('claim', value) }));
  return [...offered, { value: OTHER_CLAIM, label: t('claims.other') }];
}

/** ConditionLine shows a name with its required or excluded values, as a list item. */
export function ConditionLine({ name, isNot = false, values }: ConditionLineProps) {
  const { t } = useI18n();
  return (
    <li>
      <span className="sw-muted">{name}</span> {isNot && <span className="sw-muted">{t('claims.not')} </span>}
      {values.map((value, index) => (
        // Values are identified only by their position.
        // oxlint-disable-next-line react/no-array-index-key
        <Fragment key={index}>
          {index > 0 && <span className="sw-muted"> {t('claims.or')} </span>}
          {typeof value === 'string' ? <span className="sw-mono">{value}</span> : value}
        </Fragment>
      ))}
    </li>
  );
}

interface ConditionLineProps {
  readonly name: string;
  readonly isNot?: boolean;
  readonly values: readonly ReactNode[];
}

/** ClaimConditions lists conditions, one claim per line. */
export function ClaimConditions({ conditions }: { conditions: readonly ClaimCondition[] }) {
  const { named } = useI18n();
  return (
    <ul className="sw-conditions">
      {conditions.map(({ claim, values }) => (
        <ConditionLine key={`${claim} ${values.join(' ')}`} name={named('claim', claim)} values={values} />
      ))}
    </ul>
  );
}

interface ClaimsField {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly isRequired?: boolean;
  readonly value: readonly ClaimCondition[] | undefined;
}

/** useClaimsField returns the form field for conditions on claims. */
export function useClaimsField({ value, ...field }: ClaimsField): Field {
  const { t } = useI18n();
  const options = useClaimOptions();
  const rows = value?.map(({ claim, values, ...others }): Row => {
    return { ...others, offered: isOfferedClaim(claim) ? claim : OTHER_CLAIM, claim, values: values.join('\n') };
  });
  return {
    ...field,
    kind: 'rows',
    add: t('claims.conditions.add'),
    columns: [
      { name: 'offered', label: t('claims.claim'), options },
      {
        name: 'claim',
        label: t('claims.name'),
        placeholder: 'repository_owner',
        when: ({ offered }) => offered === OTHER_CLAIM,
      },
      { name: 'values', label: t('claims.values'), kind: 'lines', placeholder: ({ offered }) => exampleOf(offered) },
    ],
    ...(rows === undefined ? {} : { value: rows }),
  };
}

interface ClaimRow extends Partial<ClaimCondition> {
  readonly offered?: string;
}

/** conditionsIn returns the conditions in the rows of that field. A row without values is sent unchanged, so that the service reports what is missing. */
export const conditionsIn = (value: FieldValue): ClaimCondition[] =>
  (Array.isArray(value) ? (value as ClaimRow[]) : []).map(({ offered, claim = '', values = [], ...others }) => ({
    ...others,
    claim: offered ?? claim,
    values,
  }));
