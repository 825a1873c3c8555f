import { Button, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import DownloadIcon from '@patternfly/react-icons/dist/esm/icons/download-icon';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { getAttestationOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { AttestationView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Busy } from '../../patterns/busy.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Failed } from '../../patterns/problem.js';
import { Share } from './attestations.page.js';

type Result = AttestationView['results'][number];

export function AttestationPage() {
  const { t } = useI18n();
  const { id = '' } = useParams({ strict: false });
  const query = useQuery(getAttestationOptions({ path: { id } }));
  const attestation = query.data;
  return (
    <PageFrame
      title={attestation?.pack.name ?? t('attestations.one')}
      parents={[{ to: '/attestations', name: t('nav.attestations') }]}
      beside={attestation && <StatusLabel status={attestation.expired ? 'EXPIRED' : 'ACTIVE'} />}
      actions={
        <Button
          variant="secondary"
          icon={<DownloadIcon />}
          component="a"
          href={`/api/attestations/${id}/cyclonedx`}
          download
        >
          {t('assets.export')}
        </Button>
      }
    >
      {query.isError && <Failed query={query} />}
      {query.isPending && <Busy />}
      {attestation !== undefined && <Details attestation={attestation} />}
    </PageFrame>
  );
}

function Details({ attestation }: { attestation: AttestationView }) {
  const { t } = useI18n();
  const texts = new Map(attestation.pack.requirements.map(({ identifier, text }) => [identifier, text]));
  return (
    <Stack hasGutter>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [t('attestations.score'), <Share key="s" value={attestation.score} />],
                [t('attestations.statement'), attestation.statement],
                [t('attestations.reviewer'), attestation.reviewer],
                [t('attestations.scope'), attestation.scope],
                [t('attestations.asOf'), <Day key="a" at={attestation.asOf} />],
                [t('created'), <Moment key="c" at={attestation.createdAt} exact />],
                [t('attestations.until'), <Day key="u" at={attestation.expiresAt} />],
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('attestations.results')}</CardTitle>
          <CardBody>
            <DataTable<Result>
              name={t('attestations.results')}
              query={{ data: { items: attestation.results }, isError: false } as never}
              rowKey={({ identifier }) => identifier}
              empty={null}
              columns={[
                { name: t('id'), cell: ({ identifier }) => <span className="sw-mono sw-nowrap">{identifier}</span> },
                {
                  name: t('attestations.requirement'),
                  width: 35,
                  cell: ({ identifier }) => texts.get(identifier) ?? '–',
                },
                { name: t('attestations.score'), cell: ({ score }) => <Share value={score} /> },
                { name: t('nav.assets'), cell: ({ assets }) => assets },
                { name: t('attestations.violations'), cell: ({ violations }) => violations },
                { name: t('attestations.rationale'), width: 30, cell: ({ rationale }) => rationale },
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
    </Stack>
  );
}
