import {
  ActionList,
  ActionListItem,
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  List,
  ListItem,
  ProgressStep,
  ProgressStepper,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { type ReactNode, useState } from 'react';
import { getApprovalOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { approve, reject, withdraw } from '../../api/generated/sdk.gen.js';
import type { ApprovalView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { useNameOf } from '../../patterns/person.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { visibleJson, visibleText } from '../../patterns/visible-text.js';
import { isVerified, VerifiedIdentity } from '../../patterns/verified-identity.js';
import { useAction } from '../../patterns/use-action.js';
import { useLive } from '../../patterns/use-live.js';
import { hexOf } from '../signing/use-file-digest.js';
import { Tally } from './approvals.page.js';

export function ApprovalPage() {
  const { t } = useI18n();
  const id = useResourceId();
  const query = useLive<ApprovalView>({
    options: getApprovalOptions({ path: { id } }),
    events: `/api/v1/approvals/${id}/events`,
    isFinal: ({ status }) => status !== 'PENDING',
  });
  return (
    <ResourcePage
      query={query}
      kind={t('approval')}
      parent={{ to: '/approvals', name: t('nav.approvals') }}
      title={(approval) => approval.title}
      badge={(approval) => <StatusLabel status={approval.status} />}
    >
      {(approval) => (
        <Stack hasGutter>
          <StackItem>
            <DecisionButtons approval={approval} />
          </StackItem>
          {isVerified(approval.shown['verified']) && (
            <StackItem>
              <Card>
                <CardTitle component="h2">{t('verified.title')}</CardTitle>
                <CardBody>
                  <VerifiedIdentity identity={approval.shown['verified']} />
                </CardBody>
              </Card>
            </StackItem>
          )}
          <StackItem>
            <ApprovedContent approval={approval} />
          </StackItem>
          <StackItem>
            <ApprovalProgress approval={approval} />
          </StackItem>
        </Stack>
      )}
    </ResourcePage>
  );
}

type Decision = 'approve' | 'reject' | 'withdraw';

/** DecisionButtons lets the person approve or reject once, or withdraw their own request. */
function DecisionButtons({ approval }: { approval: ApprovalView }) {
  const { t } = useI18n();
  const { may, caller } = useSession();
  const [decision, setDecision] = useState<Decision>();
  const isOwn = approval.requester.id === caller?.id;
  const vote = approval.votes.find(({ by }) => by.id === caller?.id);
  if (approval.status !== 'PENDING') return null;
  if (vote !== undefined) {
    return (
      <Alert
        component="h2"
        isInline
        variant="info"
        title={t(vote.decision === 'APPROVE' ? 'approval.youApproved' : 'approval.youRejected')}
      >
        <Tally approval={approval} />
      </Alert>
    );
  }
  const button = (kind: Decision, variant: 'primary' | 'danger' | 'secondary') => (
    <ActionListItem key={kind}>
      <Button variant={variant} size="lg" onClick={() => setDecision(kind)}>
        {t(`approval.${kind}`)}
      </Button>
    </ActionListItem>
  );
  return (
    <>
      {isOwn && <Alert component="h2" isInline variant="info" title={t('approval.own')} />}
      <ActionList className="sw-verdict">
        {!isOwn && may('approvals:approve') && [button('approve', 'primary'), button('reject', 'danger')]}
        {isOwn && button('withdraw', 'secondary')}
      </ActionList>
      {decision !== undefined && (
        <Decide approval={approval} decision={decision} onClose={() => setDecision(undefined)} />
      )}
    </>
  );
}

function Decide({ approval, decision, onClose }: { approval: ApprovalView; decision: Decision; onClose: () => void }) {
  const { t } = useI18n();
  const path = { id: approval.id };
  const action = useAction(
    async ({ comment }: Values, once): Promise<{ data: unknown }> => {
      const body = { hash: approval.hash, ...(comment === undefined ? {} : { comment }) };
      if (decision === 'withdraw') return withdraw({ path });
      const call = { path, body, headers: once } as never;
      return decision === 'approve' ? approve(call) : reject(call);
    },
    {
      changes: ['getApproval', 'listApprovals', 'getSigningRequest', 'listSigningRequests'],
      done: t(`approval.${decision}.done`),
    },
  );
  return (
    <FormDialog
      title={t(`approval.${decision}`)}
      lead={approval.title}
      submit={t(`approval.${decision}`)}
      action={action}
      isDanger={decision === 'reject'}
      onClose={onClose}
      fields={
        decision === 'withdraw'
          ? []
          : [
              {
                name: 'comment',
                kind: 'area',
                label: t('approval.comment'),
                isRequired: approval.commentRequired,
                isKept: true,
              },
            ]
      }
    />
  );
}

/** ApprovedContent shows the complete content that the approval hash covers, so that nobody approves a mere summary. */
function ApprovedContent({ approval: { shown, hash, subject } }: { approval: ApprovalView }) {
  const { t, named } = useI18n();
  const isApart = (name: string) => name === 'verified' && isVerified(shown[name]);
  const used = Object.entries(shown).filter(([name, value]) => value !== null && !isApart(name));
  const unused = Object.entries(shown).filter(([, value]) => value === null);
  return (
    <Card>
      <CardTitle component="h2">{t('approval.shown')}</CardTitle>
      <CardBody>
        <Facts
          facts={[
            ...used.map(([name, value]): [string, ReactNode] => [
              CLIENT_PROVIDED.includes(name)
                ? t('shown.clientProvided', { name: named('shown', name) })
                : named('shown', name),
              CLIENT_PROVIDED.includes(name) ? (
                <ClientProvided key={name} value={value} />
              ) : (
                <ContentValue key={name} name={name} value={value} />
              ),
            ]),
            [t('approval.unused'), unused.map(([name]) => named('shown', name)).join(', ')],
            [t('approval.hash'), <Copyable key="hash" text={hexOf(hash)} />],
            [
              t('request.title'),
              subject.kind === 'signing-request' && (
                <Go key="subject" to={`/requests/${subject.id}`}>
                  {subject.id}
                </Go>
              ),
            ],
          ]}
        />
      </CardBody>
    </Card>
  );
}

function ContentValue({ name, value }: { name: string; value: unknown }) {
  const { named } = useI18n();
  if (name === 'digest' && typeof value === 'string' && /^[A-Za-z0-9+/]+=*$/.test(value))
    return <Copyable text={hexOf(value)} />;
  if (typeof value === 'string') return <ContentText name={name} text={value} />;
  if (typeof value !== 'object' || value === null) return <span>{JSON.stringify(value)}</span>;
  return (
    <List isPlain>
      {Object.entries(value).map(([inner, one]) => (
        <ListItem key={inner}>
          <span className="sw-muted">{visibleText(named('shown', inner))}</span>{' '}
          <ContentText name={inner} text={typeof one === 'string' ? one : JSON.stringify(one)} />
        </ListItem>
      ))}
    </List>
  );
}

/** Members that the client provides and nobody verifies. */
const CLIENT_PROVIDED = ['metadata', 'reference'];

function ClientProvided({ value }: { value: unknown }) {
  return <div className="sw-mono">{visibleJson(value)}</div>;
}

const CALLERS = ['person', 'caller', 'callerId', 'ownerId'];

/** ContentText shows the text that the hash covers, preceded by the user's name if the text is a user ID. */
function ContentText({ name, text }: { name: string; text: string }) {
  const nameOf = useNameOf();
  const user = CALLERS.includes(name) ? nameOf(text) : undefined;
  return (
    <>
      {user} <span className="sw-mono">{visibleText(text)}</span>
    </>
  );
}

/** ApprovalProgress shows the stages and the votes. */
function ApprovalProgress({ approval }: { approval: ApprovalView }) {
  const { t } = useI18n();
  const { stages, stage, status, votes, policies, requester, createdAt, expiresAt } = approval;
  return (
    <Card>
      <CardTitle component="h2">{t('approval.progress')}</CardTitle>
      <CardBody>
        <Stack hasGutter>
          <StackItem>
            <ProgressStepper aria-label={t('approval.progress')}>
              {stages.map(({ group, threshold, approvals }, index) => {
                const isDone = approvals >= threshold;
                const isAsked = index === stage && status === 'PENDING';
                return (
                  <ProgressStep
                    key={`${group.id} ${index}`}
                    id={`stage-${index}`}
                    titleId={`stage-${index}-title`}
                    variant={isDone ? 'success' : isAsked ? 'info' : 'pending'}
                    aria-label={group.name}
                    isCurrent={isAsked}
                    description={t('approvals.tally', { approvals, threshold })}
                  >
                    {group.name}
                  </ProgressStep>
                );
              })}
            </ProgressStepper>
          </StackItem>
          {votes.length > 0 && (
            <StackItem>
              <DataTable
                name={t('approvals.votes')}
                rows={votes}
                rowKey={({ by, at }) => `${by.id} ${at}`}
                empty={null}
                columns={[
                  { name: t('approval.by'), cell: ({ by }) => <strong>{by.name}</strong> },
                  {
                    name: t('approval.decision'),
                    cell: ({ decision }) => <StatusLabel status={decision === 'APPROVE' ? 'APPROVED' : 'REJECTED'} />,
                  },
                  { name: t('approval.comment'), width: 40, cell: ({ comment }) => comment ?? '–' },
                  { name: t('audit.at'), cell: ({ at }) => <Moment at={at} /> },
                ]}
              />
            </StackItem>
          )}
          <StackItem>
            <Facts
              facts={[
                [t('approvals.requester'), requester.name],
                [t('nav.policies'), policies.join(', ')],
                [t('created'), <Moment key="c" at={createdAt} exact />],
                [t('approvals.expires'), <Moment key="e" at={expiresAt} exact />],
              ]}
            />
          </StackItem>
        </Stack>
      </CardBody>
    </Card>
  );
}
