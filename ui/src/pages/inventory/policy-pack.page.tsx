import { Button, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { evaluatePolicy } from '../../api/generated/sdk.gen.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { Busy } from '../../patterns/busy.js';
import { Facts } from '../../patterns/facts.js';
import { FilterBar } from '../../patterns/filter-bar.js';
import { Day } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Failed } from '../../patterns/problem.js';
import { AttestDialog } from './attest-dialog.js';
import { RequirementResults, Share } from './requirement-results.js';

/** How the inventory stands against a policy on a day, before anybody attests it. */
export function PolicyPackPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const { id: pack = '' } = useParams({ strict: false });
  const { one } = useUrlState();
  const [isAttesting, setAttesting] = useState(false);
  const asOf = one('asOf');
  const query = useQuery({
    // It asks and changes nothing, though it is a POST.
    queryKey: ['evaluatePolicy', pack, asOf],
    queryFn: async () => (await evaluatePolicy({ body: { pack, ...(asOf === undefined ? {} : { asOf }) } })).data,
    placeholderData: keepPreviousData,
  });
  const { data } = query;
  return (
    <PageFrame
      title={data?.pack.name ?? t('attestations.pack')}
      lead={data?.pack.description}
      parents={[{ to: '/policy-packs', name: t('nav.policyPacks') }]}
      actions={may('inventory:write') && <Button onClick={() => setAttesting(true)}>{t('attestations.create')}</Button>}
    >
      {query.isError && <Failed query={query} />}
      {query.isPending && <Busy />}
      {data !== undefined && (
        <Stack hasGutter>
          <StackItem>
            <Card>
              <CardTitle component="h2">{t('request.facts')}</CardTitle>
              <CardBody>
                <Facts
                  facts={[
                    [t('attestations.score'), <Share key="s" value={data.score} />],
                    [t('attestations.asOf'), <Day key="a" at={data.asOf} />],
                    [t('policyPacks.owner'), data.pack.owner],
                    [t('version'), data.pack.version],
                    [t('policyPacks.review'), data.pack.reviewEveryDays],
                  ]}
                />
              </CardBody>
            </Card>
          </StackItem>
          <StackItem>
            <Card>
              <CardTitle component="h2">{t('attestations.results')}</CardTitle>
              <CardBody>
                <FilterBar filters={[{ kind: 'day', param: 'asOf', name: t('attestations.asOf') }]} />
                <RequirementResults of={data} />
              </CardBody>
            </Card>
          </StackItem>
        </Stack>
      )}
      {isAttesting && <AttestDialog pack={pack} onClose={() => setAttesting(false)} />}
    </PageFrame>
  );
}
