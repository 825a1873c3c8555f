import { Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { listInstancesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { client } from '../../api/generated/client.gen.js';
import type { InstanceView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Busy } from '../../patterns/busy.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Failed } from '../../patterns/problem.js';

interface Health {
  readonly status: string;
  readonly components?: Readonly<
    Record<string, { readonly status: string; readonly details?: Readonly<Record<string, unknown>> }>
  >;
}

/** readHealth returns the health. Status 503 (DOWN) has the same body and is not an error here. */
async function readHealth(): Promise<Health> {
  const { data, error } = await client.get({ url: '/actuator/health', throwOnError: false });
  const answer = (data ?? (error as { facts?: { detail?: string } } | undefined)) as Health | undefined;
  if (answer === undefined || !('status' in answer)) throw error;
  return answer;
}

export function HealthPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const query = useQuery({ queryKey: ['health'], queryFn: readHealth, refetchInterval: 5000 });
  return (
    <PageFrame
      title={t('nav.health')}
      lead={t('health.lead')}
      badge={query.data && <StatusLabel status={query.data.status} />}
    >
      {query.isError && <Failed query={query} />}
      {query.isPending && <Busy />}
      <div className="sw-grid">
        {Object.entries(query.data?.components ?? {}).map(([name, { status, details = {} }]) => (
          <Card key={name} isCompact isFullHeight>
            <CardTitle component="h2">{named('component', name)}</CardTitle>
            <CardBody>
              <StatusLabel status={status} />
              <Facts
                facts={Object.entries(details).map(([detail, value]) => [
                  detail,
                  typeof value === 'string' ? value : JSON.stringify(value),
                ])}
              />
            </CardBody>
          </Card>
        ))}
      </div>
      {may('settings:read') && <Instances />}
    </PageFrame>
  );
}

/** Instances lists the processes of the service with their version and clock offset. */
function Instances() {
  const { t, language } = useI18n();
  const query = useQuery({ ...listInstancesOptions(), refetchInterval: 5000 });
  const seconds = new Intl.NumberFormat(language, { style: 'unit', unit: 'second', maximumFractionDigits: 3 });
  return (
    <Card>
      <CardTitle component="h2">{t('instances')}</CardTitle>
      <CardBody>
        <DataTable<InstanceView>
          name={t('instances')}
          query={query}
          rowKey={({ id }) => id}
          empty={<p className="sw-muted">{t('instances.none')}</p>}
          columns={[
            { name: t('instances.process'), cell: ({ host, pid }) => `${host}:${pid}` },
            { name: t('instances.role'), cell: ({ role }) => role },
            { name: t('instances.version'), cell: ({ version }) => version },
            { name: t('instances.started'), cell: ({ startedAt }) => <Moment at={startedAt} /> },
            { name: t('asset.lastSeen'), cell: ({ seenAt }) => <Moment at={seenAt} /> },
            { name: t('instances.clock'), cell: ({ clockOffsetMs }) => seconds.format(clockOffsetMs / 1000) },
          ]}
        />
      </CardBody>
    </Card>
  );
}
