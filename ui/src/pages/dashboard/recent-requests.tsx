import { Card, CardBody, CardTitle, EmptyState } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { listSigningRequestsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Busy } from '../../patterns/busy.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { Failed } from '../../patterns/problem.js';
import { fileNameOf } from '../signing/signing-request.js';

export function RecentRequests() {
  const { t } = useI18n();
  const query = useQuery({ ...listSigningRequestsOptions({ query: { limit: 6 } }), refetchInterval: 15_000 });
  return (
    <Card isCompact isFullHeight>
      <CardTitle component="h2">{t('dashboard.recent')}</CardTitle>
      <CardBody>
        {query.isError && <Failed query={query} />}
        {query.isPending && <Busy />}
        {query.data?.items.length === 0 && <EmptyState headingLevel="h3" titleText={t('requests.none')} variant="xs" />}
        {query.data !== undefined && query.data.items.length > 0 && (
          <Table role="table" aria-label={t('dashboard.recent')} variant="compact" borders={false}>
            <Thead>
              <Tr>
                <Th>{t('requests.file')}</Th>
                <Th>{t('status')}</Th>
                <Th>{t('created')}</Th>
              </Tr>
            </Thead>
            <Tbody>
              {query.data.items.map((request) => (
                <Tr key={request.requestId}>
                  <Td dataLabel={t('requests.file')} modifier="truncate">
                    <Go to={`/requests/${request.requestId}`}>{fileNameOf(request) ?? request.requestId}</Go>
                  </Td>
                  <Td dataLabel={t('status')}>
                    <StatusLabel status={request.status} />
                  </Td>
                  <Td dataLabel={t('created')}>
                    <Moment at={request.createdAt} />
                  </Td>
                </Tr>
              ))}
            </Tbody>
          </Table>
        )}
      </CardBody>
    </Card>
  );
}
