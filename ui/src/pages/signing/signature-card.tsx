import {
  ActionList,
  ActionListItem,
  Button,
  Card,
  CardBody,
  CardTitle,
  Content,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import DownloadIcon from '@patternfly/react-icons/dist/esm/icons/download-icon';
import { useQuery } from '@tanstack/react-query';
import { listSigningKeyVersionsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { getEvidence } from '../../api/generated/sdk.gen.js';
import type { SigningRequestView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command, CopyButton } from '../../patterns/copyable.js';
import { download } from '../../patterns/download.js';
import { Problem } from '../../patterns/problem.js';
import { useAction } from '../../patterns/use-action.js';
import { bytesOf, pemOf, signatureFileOf, verifyCommandOf } from './signing-request.js';

/** SignatureCard offers the signature for download and shows the command that verifies it without this service. */
export function SignatureCard({ request }: { request: SigningRequestView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const versions = useQuery({
    ...listSigningKeyVersionsOptions({ path: { id: request.key.id } }),
    enabled: may('signing-keys:read'),
  });
  const publicKey = versions.data?.items.find(({ version }) => version === request.key.version)?.publicKey;
  const command = verifyCommandOf(request);
  const { signature = '', timestamp, certificateChain = [] } = request;
  const save = (name: string, content: BlobPart) => () => download(name, content);
  return (
    <Card>
      <CardTitle component="h2">{t('signature.title')}</CardTitle>
      <CardBody>
        <Stack hasGutter>
          <StackItem>
            <ActionList>
              <ActionListItem>
                <Button icon={<DownloadIcon />} onClick={save(signatureFileOf(request), bytesOf(signature))}>
                  {t('signature.download')}
                </Button>
              </ActionListItem>
              {publicKey !== undefined && (
                <ActionListItem>
                  <Button
                    variant="secondary"
                    icon={<DownloadIcon />}
                    onClick={save(`${request.key.name}-v${request.key.version}.pem`, publicKey)}
                  >
                    {t('signature.publicKey')}
                  </Button>
                </ActionListItem>
              )}
              {certificateChain.length > 0 && (
                <ActionListItem>
                  <Button
                    variant="secondary"
                    icon={<DownloadIcon />}
                    onClick={save('chain.pem', pemOf(certificateChain))}
                  >
                    {t('signature.chain')}
                  </Button>
                </ActionListItem>
              )}
              {timestamp !== undefined && (
                <ActionListItem>
                  <Button
                    variant="secondary"
                    icon={<DownloadIcon />}
                    onClick={save(`${signatureFileOf(request)}.tst`, bytesOf(timestamp))}
                  >
                    {t('signature.timestamp')}
                  </Button>
                </ActionListItem>
              )}
              <ActionListItem>
                <EvidenceButton request={request} />
              </ActionListItem>
            </ActionList>
          </StackItem>
          {command !== undefined && (
            <StackItem>
              <Content component="p">{t('signature.verify')}</Content>
              <Command text={command} name={t('signature.command')} />
            </StackItem>
          )}
          <StackItem>
            <span className="sw-muted">{t('signature.base64')}</span>{' '}
            <CopyButton text={signature} name={t('signature.base64')} />
          </StackItem>
        </Stack>
      </CardBody>
    </Card>
  );
}

/** EvidenceButton downloads one file with everything that proves the signature. It exists once a log checkpoint covers the entry. */
function EvidenceButton({ request }: { request: SigningRequestView }) {
  const { t } = useI18n();
  const read = useAction(
    async (id: string) => ({ data: (await getEvidence({ path: { id }, parseAs: 'blob' })).data as unknown as Blob }),
    {
      changes: [],
      onDone: (evidence) => download(`${signatureFileOf(request)}.evidence.json`, evidence, evidence.type),
    },
  );
  return (
    <>
      <Button
        variant="secondary"
        icon={<DownloadIcon />}
        isLoading={read.isPending}
        isDisabled={read.isPending}
        onClick={() => read.mutate(request.requestId)}
      >
        {t('signature.evidence')}
      </Button>
      {read.isError && <Problem error={read.error} />}
    </>
  );
}
