import { Button, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  getSshAuthorityOptions,
  listSshCertificatesOptions,
  listSshRevocationsOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import type { IssuedSshCertificateView, SshAuthorityView, SshRevocationView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command, Copyable, CopyButton } from '../../patterns/copyable.js';
import { Facts } from '../../patterns/facts.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { VerifiedLine } from '../../patterns/verified-identity.js';
import { AuthorityActions } from './ssh-authority-actions.js';
import { RevokeCertificate } from './revoke-certificate.js';

const MAX_REVOCATIONS = 200;

export function SshAuthorityPage() {
  const { t } = useI18n();
  const query = useQuery(getSshAuthorityOptions({ path: { id: useResourceId() } }));
  return (
    <ResourcePage
      query={query}
      kind={t('sshCa.one')}
      parent={{ to: '/ssh-authorities', name: t('nav.sshAuthorities') }}
      title={(authority) => authority.name}
      badge={(authority) => <StatusLabel status={authority.state} />}
      actions={(authority) => <AuthorityActions authority={authority} />}
    >
      {(authority) => (
        <Stack hasGutter>
          <StackItem>
            <Trust authority={authority} />
          </StackItem>
          <StackItem>
            <Certificates authority={authority} />
          </StackItem>
          <StackItem>
            <Revocations authority={authority} />
          </StackItem>
        </Stack>
      )}
    </ResourcePage>
  );
}

/** commandsOf returns the commands by which hosts or users trust the CA and install its KRL. */
function commandsOf({ id, kind }: SshAuthorityView): string {
  const api = `${location.origin}/v1/ssh-ca`;
  if (kind === 'host') return `curl -s ${api}/known-hosts >> ~/.ssh/known_hosts`;
  return [
    `curl -s ${api}/trusted-user-ca-keys > /etc/ssh/user_ca.pub`,
    `curl -s ${api}/${id}/krl > /etc/ssh/revoked_keys`,
    `printf 'TrustedUserCAKeys /etc/ssh/user_ca.pub\\nRevokedKeys /etc/ssh/revoked_keys\\n' > /etc/ssh/sshd_config.d/sealwright.conf`,
  ].join('\n');
}

function Trust({ authority }: { authority: SshAuthorityView }) {
  const { t, named } = useI18n();
  const { kind, fingerprint, publicKey, createdAt } = authority;
  return (
    <Card>
      <CardTitle component="h2">{t('sshCa.trust')}</CardTitle>
      <CardBody>
        <Stack hasGutter>
          <StackItem>
            <Facts
              facts={[
                [t('sshCa.certifies'), named('sshCaKind', kind)],
                [t('fingerprint'), <Copyable key="f" text={fingerprint} />],
                [t('created'), <Moment key="c" at={createdAt} exact />],
              ]}
            />
          </StackItem>
          <StackItem>
            <Command name={t('signature.publicKey')} text={publicKey} />
          </StackItem>
          <StackItem>
            <p className="sw-muted">{t(kind === 'host' ? 'sshCa.trust.people' : 'sshCa.trust.hosts')}</p>
            <Command name={t('sshCa.trust')} text={commandsOf(authority)} />
          </StackItem>
        </Stack>
      </CardBody>
    </Card>
  );
}

function Certificates({ authority: { id } }: { authority: SshAuthorityView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [revoked, setRevoked] = useState<IssuedSshCertificateView>();
  return (
    <Card>
      <CardTitle component="h2">{t('sshCa.certificates')}</CardTitle>
      <CardBody>
        <ResourceList<IssuedSshCertificateView>
          name={t('sshCa.certificates')}
          list={(query) => listSshCertificatesOptions({ path: { id }, query })}
          rowKey={(row) => row.id}
          emptyTitle={t('sshCa.certificates.none')}
          columns={[
            { name: t('sshCa.serial'), cell: ({ serial }) => serial },
            { name: t('sshCa.keyId'), width: 20, cell: (row) => <Holder certificate={row} /> },
            { name: t('sshCa.principals'), width: 20, cell: ({ principals }) => principals.join(', ') },
            { name: t('sshCa.from'), cell: ({ validAfter }) => <Moment at={validAfter} /> },
            { name: t('sshCa.until'), cell: (row) => <Until certificate={row} /> },
            { name: t('status'), cell: (row) => <StatusLabel status={statusOf(row)} /> },
            {
              name: t('actions'),
              isAction: true,
              cell: (row) => (
                <span className="sw-nowrap">
                  {row.certificate !== '' && (
                    <CopyButton text={row.certificate} name={t('sshCa.file', { serial: row.serial })} />
                  )}
                  {may('ssh-ca:write') && !row.revoked && (
                    <Button variant="link" size="sm" isDanger onClick={() => setRevoked(row)}>
                      {t('sshCa.revoke')}
                    </Button>
                  )}
                </span>
              ),
            },
          ]}
        />
      </CardBody>
      {revoked !== undefined && (
        <RevokeCertificate id={id} certificate={revoked} onClose={() => setRevoked(undefined)} />
      )}
    </Card>
  );
}

/** Holder shows the key ID and the verified identity of the requester. */
function Holder({ certificate: { keyId, verified } }: { certificate: IssuedSshCertificateView }) {
  return (
    <>
      <strong>{keyId}</strong>
      {verified !== undefined && (
        <div>
          <VerifiedLine identity={verified} />
        </div>
      )}
    </>
  );
}

/** Until shows when a certificate expires and until when the host can renew it. */
function Until({ certificate: { validBefore, renewableUntil } }: { certificate: IssuedSshCertificateView }) {
  const { t } = useI18n();
  return (
    <>
      <Moment at={validBefore} />
      {renewableUntil !== undefined && (
        <div className="sw-muted">
          {t('sshCa.renewal.until')} <Day at={renewableUntil} />
        </div>
      )}
    </>
  );
}

function statusOf({ revoked, status, validAfter, validBefore }: IssuedSshCertificateView): string {
  if (revoked) return 'REVOKED';
  if (status !== 'ISSUED') return status === 'READY' ? 'PROCESSING' : status;
  if (new Date(validBefore) < new Date()) return 'EXPIRED';
  return new Date(validAfter) > new Date() ? 'PENDING' : 'ACTIVE';
}

function Revocations({ authority: { id } }: { authority: SshAuthorityView }) {
  const { t, named } = useI18n();
  return (
    <Card>
      <CardTitle component="h2">{t('sshCa.revocations')}</CardTitle>
      <CardBody>
        <ResourceList<SshRevocationView>
          name={t('sshCa.revocations')}
          list={() => listSshRevocationsOptions({ path: { id }, query: { limit: MAX_REVOCATIONS } })}
          rowKey={(row) => row.id}
          emptyTitle={t('sshCa.revocations.none')}
          columns={[
            { name: t('kind'), cell: ({ kind }) => named('sshRevocation', kind) },
            { name: t('sshCa.value'), width: 40, cell: ({ value }) => <span className="sw-mono">{value}</span> },
            { name: t('sshCa.reason'), width: 25, cell: ({ reason }) => reason ?? '–' },
            { name: t('sshCa.revokedAt'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
          ]}
        />
      </CardBody>
    </Card>
  );
}
