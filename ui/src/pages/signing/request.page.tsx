import {
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  ProgressStep,
  ProgressStepper,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { getSigningKeyOptions, getSigningRequestOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { SigningRequestView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import { Facts } from '../../patterns/facts.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { Problem } from '../../patterns/problem.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { VerifiedIdentity } from '../../patterns/verified-identity.js';
import { useLive } from '../../patterns/use-live.js';
import { visibleJson } from '../../patterns/visible-text.js';
import { selfSignedBodyOf, useStoreCertificate } from '../keys/self-signed.js';
import { fileNameOf, isFinal } from './signing-request.js';
import { SignatureCard } from './signature-card.js';
import { hexOf } from './use-file-digest.js';

export function RequestPage() {
  const { t } = useI18n();
  const id = useResourceId();
  const query = useLive<SigningRequestView>({
    options: getSigningRequestOptions({ path: { id } }),
    events: `/api/v1/sign/requests/${id}/events`,
    isFinal,
  });
  return (
    <ResourcePage
      query={query}
      kind={t('request.title')}
      parent={{ to: '/requests', name: t('nav.requests') }}
      title={fileNameOf}
      badge={(request) => <StatusLabel status={request.status} />}
    >
      {(request) => <Details request={request} />}
    </ResourcePage>
  );
}

function Details({ request }: { request: SigningRequestView }) {
  const { t, named } = useI18n();
  const { failure } = request;
  return (
    <Stack hasGutter>
      <StackItem>
        <RequestProgress request={request} />
      </StackItem>
      {failure !== undefined && (
        <StackItem>
          <Alert component="h2" variant="danger" isInline title={t('request.failed')}>
            <p>{failure.detail}</p>
            <p className="sw-mono">{failure.code}</p>
          </Alert>
        </StackItem>
      )}
      {request.status === 'SIGNED' && <StoreSelfSigned request={request} />}
      {request.status === 'SIGNED' && (
        <StackItem>
          <SignatureCard request={request} />
        </StackItem>
      )}
      {request.verified !== undefined && (
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('verified.title')}</CardTitle>
            <CardBody>
              <VerifiedIdentity identity={request.verified} />
            </CardBody>
          </Card>
        </StackItem>
      )}
      <ClientMetadata metadata={request.metadata} />
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [
                  t('request.digest', { algorithm: request.algorithm }),
                  <Copyable key="d" text={hexOf(request.digest)} />,
                ],
                [
                  t('key'),
                  <Go key="k" to={`/keys/${request.key.id}`}>{`${request.key.name} v${request.key.version}`}</Go>,
                ],
                [t('requests.format'), `${named('format', request.format)}, ${request.scheme}`],
                [t('request.reference'), request.reference],
                [t('created'), <Moment key="c" at={request.createdAt} exact />],
                [t('request.finished'), request.finishedAt && <Moment key="f" at={request.finishedAt} exact />],
                [t('request.id'), <Copyable key="i" text={request.requestId} />],
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
    </Stack>
  );
}

/** StoreSelfSigned offers to store the certificate if the request signed a self-signed certificate. */
function StoreSelfSigned({ request: { key, metadata } }: { request: SigningRequestView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const order = selfSignedBodyOf(metadata);
  const isAsked = order !== undefined && may('signing-keys:write');
  const signingKey = useQuery({ ...getSigningKeyOptions({ path: { id: key.id } }), enabled: isAsked });
  const store = useStoreCertificate(key.id);
  const isOpen = signingKey.data?.version === key.version && signingKey.data.certificateId === undefined;
  if (!isAsked || !isOpen) return null;
  return (
    <StackItem>
      <Alert
        component="h2"
        variant="info"
        isInline
        title={t('key.selfSigned')}
        actionLinks={
          <Button isLoading={store.isPending} isDisabled={store.isPending} onClick={() => store.mutate(order)}>
            {t('key.selfSigned.store')}
          </Button>
        }
      >
        {store.isError && <Problem error={store.error} />}
        <p>{t('key.selfSigned.stored.lead')}</p>
      </Alert>
    </StackItem>
  );
}

/** ClientMetadata shows the unverified metadata of a request. Approvers may base their decision on it. */
function ClientMetadata({ metadata }: { metadata: SigningRequestView['metadata'] }) {
  const { t } = useI18n();
  if (Object.keys(metadata).length === 0) return null;
  return (
    <StackItem>
      <Card>
        <CardTitle component="h2">{t('shown.clientProvided.title')}</CardTitle>
        <CardBody>
          <div className="sw-mono">{visibleJson(metadata)}</div>
        </CardBody>
      </Card>
    </StackItem>
  );
}

type StepLook = 'success' | 'info' | 'pending' | 'danger' | 'warning';

/** RequestProgress shows the progress of a request. Screen readers announce changes. */
function RequestProgress({ request: { status, finishedAt, createdAt } }: { request: SigningRequestView }) {
  const { t, named } = useI18n();
  const ended = status === 'SIGNED' || status === 'FAILED';
  const working: StepLook = ended ? 'success' : status === 'PROCESSING' ? 'info' : 'pending';
  const milliseconds = finishedAt === undefined ? 0 : Date.parse(finishedAt) - Date.parse(createdAt);
  const steps: [string, string, StepLook, string?][] = [
    ['received', t('request.step.received'), 'success'],
    ...(status === 'PENDING_APPROVAL'
      ? [['approval', t('request.step.approval'), 'warning'] as [string, string, StepLook]]
      : []),
    ['signing', t('request.step.signing'), working],
    [
      'end',
      ended ? named('status', status) : t('request.step.signed'),
      status === 'SIGNED' ? 'success' : status === 'FAILED' ? 'danger' : 'pending',
      ended ? t('request.took', { milliseconds }) : undefined,
    ],
  ];
  return (
    <div role="status">
      <ProgressStepper aria-label={t('request.progress')} isCenterAligned>
        {steps.map(([id, name, variant, description]) => (
          <ProgressStep
            key={id}
            id={`step-${id}`}
            titleId={`step-${id}-title`}
            variant={variant}
            aria-label={`${name}: ${t(`step.${variant}`)}`}
            isCurrent={variant === 'info' || variant === 'warning'}
            {...(description === undefined ? {} : { description })}
          >
            {name}
          </ProgressStep>
        ))}
      </ProgressStepper>
    </div>
  );
}
