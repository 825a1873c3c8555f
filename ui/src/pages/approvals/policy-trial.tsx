import { Label, Stack, StackItem } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import UsersIcon from '@patternfly/react-icons/dist/esm/icons/users-icon';
import {
  listSigningRequests,
  listSshAuthorities,
  listSshCertificates,
  testApprovalPolicies,
} from '../../api/generated/sdk.gen.js';
import type { ApprovalPolicyBody, TriedUseView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Moment } from '../../patterns/moment.js';
import { fileNameOf } from '../signing/signing-request.js';
import { Judged } from './policy-conditions.js';

/** MAX_TRIED is the maximum number of past requests the API evaluates in one call. */
const MAX_TRIED = 100;
/** MAX_READ is the number of recent requests that are searched for requests of the policy's keys. */
const MAX_READ = 200;

/** TriedRequest is a past request with its outcome under the current policies and under the draft. */
export interface TriedRequest {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly today: TriedUseView;
  readonly draft: TriedUseView;
}

type Past = Pick<TriedRequest, 'id' | 'name' | 'createdAt'>;

/** tryOnPast evaluates recent requests of a draft's keys under the draft and under all current policies. */
export async function tryOnPast(policy: ApprovalPolicyBody): Promise<TriedRequest[]> {
  const past = await (policy.subject === 'ssh-certificate' ? pastCertificates(policy) : pastRequests(policy));
  if (past.length === 0) return [];
  const ids = past.map(({ id }) => id);
  const tried = policy.subject === 'ssh-certificate' ? { certificateIds: ids } : { requestIds: ids };
  const [today, draft] = await Promise.all([
    testApprovalPolicies({ body: tried, throwOnError: true }),
    testApprovalPolicies({ body: { ...tried, policy }, throwOnError: true }),
  ]);
  return past.flatMap((one, i) => {
    const before = today.data.results[i];
    const after = draft.data.results[i];
    return before === undefined || after === undefined ? [] : [{ ...one, today: before, draft: after }];
  });
}

const guards = ({ keys }: ApprovalPolicyBody, key: string) => keys.includes('*') || keys.includes(key);

async function pastRequests(policy: ApprovalPolicyBody): Promise<Past[]> {
  const { data } = await listSigningRequests({ query: { limit: MAX_READ }, throwOnError: true });
  return data.items
    .filter(({ key }) => guards(policy, key.name))
    .slice(0, MAX_TRIED)
    .map((one) => ({ id: one.requestId, name: fileNameOf(one) ?? one.requestId, createdAt: one.createdAt }));
}

async function pastCertificates(policy: ApprovalPolicyBody): Promise<Past[]> {
  const { data: authorities } = await listSshAuthorities({ throwOnError: true });
  const lists = await Promise.all(
    authorities.items
      .filter(({ name }) => guards(policy, name))
      .map(({ id }) => listSshCertificates({ path: { id }, query: { limit: MAX_TRIED }, throwOnError: true })),
  );
  return lists
    .flatMap(({ data }) => data.items)
    .map(({ id, keyId, createdAt }) => ({ id, name: keyId, createdAt }))
    .toSorted((one, other) => other.createdAt.localeCompare(one.createdAt))
    .slice(0, MAX_TRIED);
}

/** TriedRequests shows how many past requests would require approval, and the reason for each outcome. */
export function TriedRequests({ tried }: { tried: readonly TriedRequest[] }) {
  const { t } = useI18n();
  if (tried.length === 0) return <p className="sw-muted">{t('policies.trial.none')}</p>;
  const count = tried.filter(({ draft }) => draft.needsApproval).length;
  return (
    <Stack hasGutter>
      <StackItem>
        <strong>{t('policies.trial.found', { count, of: tried.length })}</strong>
      </StackItem>
      <StackItem>
        <DataTable<TriedRequest>
          name={t('policies.trial')}
          rows={tried}
          rowKey={({ id }) => id}
          empty={null}
          columns={[
            { name: t('approvals.request'), width: 25, cell: ({ name }) => <strong>{name}</strong> },
            { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
            { name: t('policies.trial.today'), cell: ({ today }) => <Need tried={today} /> },
            { name: t('policies.trial.draft'), cell: ({ draft }) => <Need tried={draft} /> },
            { name: t('claims.reason'), width: 30, cell: ({ draft }) => <Why tried={draft} /> },
          ]}
        />
      </StackItem>
    </Stack>
  );
}

function Need({ tried: { needsApproval, stages } }: { tried: TriedUseView }) {
  const { t } = useI18n();
  const asked = stages.map(({ threshold, group }) => t('policies.stage', { threshold, group })).join(' → ');
  return (
    <Label
      color={needsApproval ? 'yellow' : 'green'}
      icon={needsApproval ? <UsersIcon /> : <CheckCircleIcon />}
      isCompact
    >
      {needsApproval ? asked : t('policies.trial.noApproval')}
    </Label>
  );
}

/** Why shows the conditions that decided the outcome, with the request's values. */
function Why({ tried: { policies } }: { tried: TriedUseView }) {
  const { t } = useI18n();
  const verdict = policies[0];
  if (verdict === undefined) return null;
  const { applies, conditions, unless } = verdict;
  const unmet = conditions.filter(({ holds }) => !holds);
  if (unmet.length > 0) return <Reason text={t('policies.trial.unmet')} conditions={unmet} />;
  if (!applies) return <Reason text={t('policies.trial.excepted')} conditions={unless} />;
  const open = unless.filter(({ holds }) => !holds);
  if (open.length > 0) return <Reason text={t('policies.trial.notExcepted')} conditions={open} />;
  return conditions.length === 0 ? (
    <>{t('policies.always')}</>
  ) : (
    <Reason text={t('policies.trial.met')} conditions={conditions} />
  );
}

function Reason({ text, conditions }: { text: string } & Parameters<typeof Judged>[0]) {
  return (
    <>
      {text}
      <Judged conditions={conditions} />
    </>
  );
}
