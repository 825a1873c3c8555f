import { Fragment, type ReactNode } from 'react';
import { useI18n } from '../i18n/i18n.js';
import type { Field, FieldValue, Option, Row } from './form-fields.js';

/** A condition on a claim as the API has it. */
export interface ClaimCondition {
  readonly claim: string;
  readonly values: readonly string[];
}

/** Claims that build systems document, with an example of a value; each has a name in the catalogue. */
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

/** Stands for a claim that the form does not offer by name. */
export const OTHER_CLAIM = '';

export const isOfferedClaim = (claim: string): boolean => Object.hasOwn(EXAMPLES, claim);
export const exampleOf = (claim: string | undefined): string => EXAMPLES[claim ?? ''] ?? '';

/** The claims that forms offer by name, and any other. */
export function useClaimOptions(): Option[] {
  const { t, named } = useI18n();
  const offered = Object.keys(EXAMPLES).map((value) => ({ value, label: named('claim', value) }));
  return [...offered, { value: OTHER_CLAIM, label: t('claims.other') }];
}

/** A name with the values that are wanted, or not wanted: one line of a list of conditions. */
export function ConditionLine({ name, isNot = false, values }: ConditionLineProps) {
  const { t } = useI18n();
  return (
    <li>
      <span className="sw-muted">{name}</span> {isNot && <span className="sw-muted">{t('claims.not')} </span>}
      {values.map((value, index) => (
        // Values of a condition have no identity but their position.
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

/** Conditions as lists show them: one claim a line, its values beside it. */
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

/** The field of a form for conditions on claims, which are chosen by name. */
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

/** The conditions of the rows of such a field. A row without values is sent as it is, so that the service says what is missing. */
export const conditionsIn = (value: FieldValue): ClaimCondition[] =>
  (Array.isArray(value) ? (value as ClaimRow[]) : []).map(({ offered, claim = '', values = [], ...others }) => ({
    ...others,
    claim: offered ?? claim,
    values,
  }));
