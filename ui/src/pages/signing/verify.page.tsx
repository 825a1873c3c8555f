import {
  ActionGroup,
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  Content,
  Form,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type SyntheticEvent, useState } from 'react';
import { listSigningRequestsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { verifySignature } from '../../api/generated/sdk.gen.js';
import type { VerifyBody } from '../../api/generated/types.gen.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Problem } from '../../patterns/problem.js';
import { useAction } from '../../patterns/use-action.js';
import { DigestAlgorithmChoice } from './digest-algorithm-choice.js';
import { FileDrop } from './file-drop.js';
import type { DigestAlgorithm } from './hash.worker.js';
import { useRequestColumns } from './request-columns.js';
import { SignatureChoice } from './signature-choice.js';
import type { SignatureFile } from './signature-file.js';
import { useFileDigest } from './use-file-digest.js';
import { VerdictCard } from './verdict-card.js';

/** VerifyPage hashes a file in the browser, lists its signing requests and verifies a signature. The file is not uploaded. */
export function VerifyPage() {
  const { t } = useI18n();
  const { one, change: changeAddress } = useUrlState();
  const [file, setFile] = useState<File>();
  const [algorithm, setAlgorithm] = useState<DigestAlgorithm>('sha256');
  const [signature, setSignature] = useState<SignatureFile>();
  const hashed = useFileDigest(file, algorithm);
  const verify = useAction((body: VerifyBody) => verifySignature({ body }), { changes: [] });
  /** Resets the result and the list page, which belong to the previously selected files. */
  const resetThen = (change: () => void) => {
    verify.reset();
    if (one('cursor') !== undefined) changeAddress({});
    change();
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (hashed.digest === undefined || signature === undefined) return;
    verify.mutate({ digest: hashed.digest, algorithm, format: signature.format, signature: signature.base64 });
  };
  return (
    <PageFrame title={t('nav.verify')} lead={t('verify.lead')}>
      <Stack hasGutter>
        <StackItem>
          <Card>
            <CardBody>
              <Form onSubmit={submit} aria-label={t('nav.verify')}>
                <FileDrop
                  file={file}
                  onFile={(chosen) => resetThen(() => setFile(chosen))}
                  hashed={hashed}
                  algorithm={algorithm}
                />
                <DigestAlgorithmChoice value={algorithm} onChange={(chosen) => resetThen(() => setAlgorithm(chosen))} />
                <SignatureChoice chosen={signature} onChoice={(choice) => resetThen(() => setSignature(choice))} />
                {verify.isError && <Problem error={verify.error} />}
                <ActionGroup>
                  <Button
                    type="submit"
                    isDisabled={hashed.digest === undefined || signature === undefined || verify.isPending}
                    isLoading={verify.isPending}
                  >
                    {t('verify.do')}
                  </Button>
                  {file !== undefined && (
                    <Button variant="link" onClick={() => resetThen(() => setFile(undefined))}>
                      {t('sign.chooseOther')}
                    </Button>
                  )}
                </ActionGroup>
              </Form>
            </CardBody>
          </Card>
        </StackItem>
        {verify.data !== undefined && (
          <StackItem>
            <VerdictCard verdict={verify.data} />
          </StackItem>
        )}
        {hashed.digest !== undefined && (
          <StackItem>
            <FileRequests digest={hashed.digest} />
          </StackItem>
        )}
      </Stack>
    </PageFrame>
  );
}

/** FileRequests lists the signing requests for a digest that the person may view. */
function FileRequests({ digest }: { digest: string }) {
  const { t } = useI18n();
  const { one } = useUrlState();
  const columns = useRequestColumns();
  const cursor = one('cursor');
  const query = useQuery({
    ...listSigningRequestsOptions({ query: { digest, ...(cursor === undefined ? {} : { cursor }) } }),
    placeholderData: keepPreviousData,
  });
  return (
    <Card>
      <CardTitle component="h2">{t('verify.requests')}</CardTitle>
      <CardBody>
        <Content component="p">{t('verify.requests.lead')}</Content>
        <DataTable
          name={t('verify.requests')}
          columns={columns}
          query={query}
          rowKey={({ requestId }) => requestId}
          empty={<Alert component="h3" variant="info" isInline title={t('verify.requests.none')} />}
        />
      </CardBody>
    </Card>
  );
}
