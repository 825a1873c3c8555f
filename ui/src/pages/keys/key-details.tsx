import { Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { getCertificateOptions, listSigningKeyVersionsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { KeyVersionView, SigningKeyView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command, Copyable } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { KeyTerms } from './key-terms.js';

/** KeyCertificate shows the subject, issuer and expiry of a key's certificate. */
function KeyCertificate({ signingKey: { certificateId } }: { signingKey: SigningKeyView }) {
  const { t } = useI18n();
  const query = useQuery({
    ...getCertificateOptions({ path: { id: certificateId ?? '' } }),
    enabled: certificateId !== undefined,
  });
  if (certificateId === undefined) return <span className="sw-muted">{t('key.noCertificate')}</span>;
  if (query.data === undefined) return null;
  const { subject, issuer, notAfter } = query.data;
  return (
    <>
      {subject} ({t('certificates.issuer')}: {issuer}), {t('certificates.ends')} <Day at={notAfter} />
    </>
  );
}

/** KeyDetails shows the restrictions, HSM attributes, versions and public key of a signing key. */
export function KeyDetails({ signingKey: key }: { signingKey: SigningKeyView }) {
  const { t, named } = useI18n();
  const versions = useQuery(listSigningKeyVersionsOptions({ path: { id: key.id } }));
  const yes = (value: boolean) => t(value ? 'yes' : 'no');
  return (
    <Stack hasGutter>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [t('type'), key.type],
                [t('keys.purpose'), named('purpose', key.purpose)],
                [t('version'), key.version],
                [t('check.certificate'), <KeyCertificate key="z" signingKey={key} />],
                [t('key.destroyAt'), key.destroyAt && <Day key="d" at={key.destroyAt} />],
                [t('key.destroyedAt'), key.destroyedAt && <Moment key="g" at={key.destroyedAt} exact />],
                [t('created'), <Moment key="c" at={key.createdAt} exact />],
                [t('id'), <Copyable key="i" text={key.id} />],
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <KeyTerms signingKey={key} />
      </StackItem>
      {key.evidence !== undefined && (
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('key.evidence')}</CardTitle>
            <CardBody>
              <Facts
                facts={[
                  [t('key.token'), `${key.evidence.tokenLabel} (${key.evidence.tokenModel})`],
                  [t('key.local'), yes(key.evidence.local)],
                  [t('key.sensitive'), yes(key.evidence.sensitive && key.evidence.alwaysSensitive)],
                  [t('key.extractable'), yes(key.evidence.extractable || !key.evidence.neverExtractable)],
                ]}
              />
            </CardBody>
          </Card>
        </StackItem>
      )}
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('key.versions')}</CardTitle>
          <CardBody>
            <DataTable<KeyVersionView>
              name={t('key.versions')}
              query={versions}
              rowKey={({ version }) => String(version)}
              empty={null}
              columns={[
                { name: t('version'), cell: ({ version }) => version },
                { name: t('status'), cell: ({ state }) => <StatusLabel status={state} /> },
                { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      {key.publicKey !== undefined && (
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('signature.publicKey')}</CardTitle>
            <CardBody>
              <Command text={key.publicKey.trim()} name={t('signature.publicKey')} />
            </CardBody>
          </Card>
        </StackItem>
      )}
    </Stack>
  );
}
