import { Alert } from '@patternfly/react-core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { testApprovalPolicies } from '../../api/generated/sdk.gen.js';
import type { ApprovalPolicyBody, PolicyWarningView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { useFactName } from './policy-conditions.js';

/** PolicyWarnings lists how callers can bypass a policy, and exceptions that never apply. */
export function PolicyWarnings({ warnings }: { warnings: readonly PolicyWarningView[] }) {
  const { t } = useI18n();
  const nameOf = useFactName();
  return (
    <>
      {warnings.map(({ code, fact }) => (
        <Alert
          key={`${code} ${fact}`}
          component="p"
          variant="warning"
          isInline
          isPlain
          title={t(`policies.warning.${code}`, { fact: nameOf(fact) })}
        />
      ))}
    </>
  );
}

type Condition = NonNullable<ApprovalPolicyBody['conditions']>[number];

const isComplete = ({ fact, values }: Condition) => fact !== '' && !fact.endsWith('.') && values.length > 0;

/** DraftWarnings shows the warnings of the service about a policy that is not yet saved. */
export function DraftWarnings({ draft: { subject, conditions = [], unless = [] } }: { draft: ApprovalPolicyBody }) {
  const policy: ApprovalPolicyBody = {
    name: 'draft',
    keys: ['*'],
    stages: [{ group: 'draft', threshold: 1 }],
    ...(subject === undefined ? {} : { subject }),
    conditions: conditions.filter(isComplete),
    unless: unless.filter(isComplete),
  };
  const { data } = useQuery({
    queryKey: ['warnings of a policy', policy],
    queryFn: async () => (await testApprovalPolicies({ body: { policy }, throwOnError: true })).data.warnings,
    enabled: conditions.length + unless.length > 0,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    retry: false,
  });
  return <PolicyWarnings warnings={data ?? []} />;
}
