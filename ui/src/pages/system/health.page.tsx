import { Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { client } from '../../api/generated/client.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Busy } from '../../patterns/busy.js';
import { Facts } from '../../patterns/facts.js';
import { StatusLabel } from '../../patterns/labels.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Failed } from '../../patterns/problem.js';

interface Health {
  readonly status: string;
  readonly components?: Readonly<
    Record<string, { readonly status: string; readonly details?: Readonly<Record<string, unknown>> }>
  >;
}

/** DOWN is answered as 503 with the same body, which is no error here. */
async function readHealth(): Promise<Health> {
  const { data, error } = await client.get({ url: '/actuator/health', throwOnError: false });
  const answer = (data ?? (error as { facts?: { detail?: string } } | undefined)) as Health | undefined;
  if (answer === undefined || !('status' in answer)) throw error;
  return answer;
}

export function HealthPage() {
  const { t, named } = useI18n();
  const query = useQuery({ queryKey: ['health'], queryFn: readHealth, refetchInterval: 5000 });
  return (
    <PageFrame
      title={t('nav.health')}
      lead={t('health.lead')}
      beside={query.data && <StatusLabel status={query.data.status} />}
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
    </PageFrame>
  );
}
