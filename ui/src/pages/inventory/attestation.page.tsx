import { Button, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import DownloadIcon from '@patternfly/react-icons/dist/esm/icons/download-icon';
import { useQuery } from '@tanstack/react-query';
import { getAttestationOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { exportSignedAttestation } from '../../api/generated/sdk.gen.js';
import type { AttestationView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Facts } from '../../patterns/facts.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { RequirementResults, Share } from './requirement-results.js';
import { SignedDownload } from './signed-download.js';

export function AttestationPage() {
  const { t } = useI18n();
  const id = useResourceId();
  const query = useQuery(getAttestationOptions({ path: { id } }));
  return (
    <ResourcePage
      query={query}
      kind={t('attestations.one')}
      parent={{ to: '/attestations', name: t('nav.attestations') }}
      title={(attestation) => attestation.pack.name}
      badge={(attestation) => <StatusLabel status={attestation.expired ? 'EXPIRED' : 'ACTIVE'} />}
      actions={() => (
        <>
          <Button
            variant="secondary"
            icon={<DownloadIcon />}
            component="a"
            href={`/api/attestations/${id}/cyclonedx`}
            download
          >
            {t('assets.export')}
          </Button>
          <SignedDownload
            file={`attestation-${id}.cdx.json`}
            ask={(key) => exportSignedAttestation({ path: { id }, query: { key }, parseAs: 'blob' })}
          />
        </>
      )}
    >
      {(attestation) => <Details attestation={attestation} />}
    </ResourcePage>
  );
}

function Details({ attestation }: { attestation: AttestationView }) {
  const { t } = useI18n();
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
            <RequirementResults of={attestation} />
          </CardBody>
        </Card>
      </StackItem>
    </Stack>
  );
}
