import { Alert, Button, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import {
  getScanOptions,
  getScanScopeOptions,
  listScanResultsOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import { cancelScan } from '../../api/generated/sdk.gen.js';
import type { ScanResultView, ScanView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Facts } from '../../patterns/facts.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { LiveProgress } from '../../patterns/live-progress.js';
import { Moment } from '../../patterns/moment.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useAction } from '../../patterns/use-action.js';
import { useLive } from '../../patterns/use-live.js';
import { isScanOver, targetsOf } from './scans.page.js';

const OUTCOMES: readonly ScanResultView['outcome'][] = [
  'FOUND',
  'PENDING',
  'THROTTLED',
  'TIMEOUT',
  'HUNG_UP',
  'FLOOD',
  'NOT_THE_PROTOCOL',
  'CLOSED',
  'DENIED',
  'NO_LOGIN',
];

export function ScanPage() {
  const { t } = useI18n();
  const id = useResourceId();
  const queries = useQueryClient();
  const refresh = useCallback(() => {
    void queries.invalidateQueries({
      predicate: ({ queryKey: [first] }) => (first as { _id?: string } | undefined)?._id === 'listScanResults',
    });
  }, [queries]);
  const query = useLive<ScanView>({
    options: getScanOptions({ path: { id } }),
    events: `/v1/scans/${id}/events`,
    isFinal: isScanOver,
    onChange: refresh,
  });
  return (
    <ResourcePage
      query={query}
      kind={t('scan')}
      parent={{ to: '/scans', name: t('nav.scans') }}
      title={(scan) => targetsOf(scan.targets)}
      percent={(scan) => (isScanOver(scan) ? undefined : scan.progress.percent)}
      badge={(scan) => <StatusLabel status={scan.status} />}
      actions={(scan) => !isScanOver(scan) && <Cancel scan={scan} />}
    >
      {(scan) => <Details scan={scan} />}
    </ResourcePage>
  );
}

function Cancel({ scan: { id } }: { scan: ScanView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [isAsking, setAsking] = useState(false);
  const action = useAction((_values: Values) => cancelScan({ path: { id } }), {
    changes: ['getScan', 'listScan'],
    done: t('scans.cancelled'),
  });
  if (!may('discovery:run')) return null;
  return (
    <>
      <Button variant="secondary" onClick={() => setAsking(true)}>
        {t('scans.cancel')}
      </Button>
      {isAsking && (
        <Confirm
          title={t('scans.cancel')}
          lead={t('scans.cancel.lead')}
          submit={t('scans.cancel')}
          action={action}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

function Details({ scan }: { scan: ScanView }) {
  const { t, named } = useI18n();
  const { status, progress, total, cursor } = scan;
  const scope = useQuery({
    ...getScanScopeOptions({ path: { id: scan.scopeId ?? '' } }),
    enabled: scan.scopeId !== undefined,
    retry: false,
  });
  return (
    <Stack hasGutter>
      {scan.failureCode !== undefined && (
        <StackItem>
          <Alert component="h2" isInline variant="danger" title={scan.failureCode} />
        </StackItem>
      )}
      <StackItem>
        <Card>
          <CardBody>
            <LiveProgress
              name={t('scans.progress')}
              percent={progress.percent}
              counted={t('scans.counted', { cursor, total, answered: progress.answered })}
              startedAt={scan.startedAt}
              isOver={isScanOver(scan)}
              isGood={status === 'DONE'}
              end={t('scans.ended', { status: named('status', status) })}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [t('kind'), named('scanKind', scan.kind)],
                [t('scans.scope'), scope.data?.name],
                [t('scans.targets'), scan.targets.join(', ')],
                [t('scans.ports'), scan.ports.join(', ')],
                [t('scans.requestedBy'), scan.requestedBy],
                [t('created'), <Moment key="c" at={scan.createdAt} exact />],
                [t('scans.startedAt'), scan.startedAt && <Moment key="s" at={scan.startedAt} exact />],
                [t('request.finished'), scan.finishedAt && <Moment key="f" at={scan.finishedAt} exact />],
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('scans.results')}</CardTitle>
          <CardBody>
            <Results scan={scan} />
          </CardBody>
        </Card>
      </StackItem>
    </Stack>
  );
}

/** responseText returns a result's facts on a single line. */
function responseText({ facts }: ScanResultView): string {
  const { version, versions, subject } = (facts ?? {}) as Readonly<Record<string, unknown>>;
  return [version, versions, subject]
    .flat()
    .filter((text) => typeof text === 'string')
    .join(', ');
}

function Results({ scan }: { scan: ScanView }) {
  const { t, named } = useI18n();
  return (
    <ResourceList<ScanResultView>
      name={t('scans.results')}
      list={(query) => listScanResultsOptions({ path: { id: scan.id }, query })}
      rowKey={({ id }) => id}
      filters={[
        {
          kind: 'choice',
          param: 'outcome',
          name: t('audit.outcome'),
          isSingle: true,
          options: OUTCOMES.map((value) => ({ value, name: named('scanOutcome', value) })),
        },
      ]}
      emptyTitle={t(isScanOver(scan) ? 'scans.results.none' : 'scans.results.notYet')}
      columns={[
        {
          name: t('scans.target'),
          width: 25,
          cell: ({ target, hostId }) => (hostId === undefined ? target : <Go to={`/hosts/${hostId}`}>{target}</Go>),
        },
        { name: t('hosts.port'), cell: ({ port, protocol }) => `${port} (${protocol})` },
        { name: t('audit.outcome'), cell: ({ outcome }) => named('scanOutcome', outcome) },
        { name: t('scans.response'), width: 35, cell: (row) => responseText(row) || '–' },
        { name: t('asset.lastSeen'), cell: ({ at }) => (at === undefined ? '–' : <Moment at={at} />) },
      ]}
    />
  );
}
