import {
  ActionGroup,
  Button,
  Card,
  CardBody,
  CardTitle,
  FileUpload,
  Form,
  FormGroup,
  FormHelperText,
  HelperText,
  HelperTextItem,
  Radio,
  Stack,
  StackItem,
  TextInput,
} from '@patternfly/react-core';
import FileImportIcon from '@patternfly/react-icons/dist/esm/icons/file-import-icon';
import { useNavigate } from '@tanstack/react-router';
import { type SyntheticEvent, useState } from 'react';
import { listImportsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { importSourceScan } from '../../api/generated/sdk.gen.js';
import type { ImportView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command } from '../../patterns/copyable.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Problem } from '../../patterns/problem.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';
import { isImportOver } from './import.page.js';

interface Order {
  readonly file: File;
  readonly source: string;
  readonly mode: 'repair' | 'strict';
}

const REFRESH = 2000;
const KILOBYTE = 1000;

/** ImportsPage imports documents (CycloneDX, SARIF, scans) and reports each repaired or rejected entry. */
export function ImportsPage() {
  const { t } = useI18n();
  const { may } = useSession();
  return (
    <PageFrame title={t('nav.imports')} lead={t('imports.lead')}>
      <Stack hasGutter>
        {may('inventory:report') && (
          <StackItem>
            <Card>
              <CardBody>
                <ImportForm />
              </CardBody>
            </Card>
          </StackItem>
        )}
        <StackItem>
          <ImportList />
        </StackItem>
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('imports.fromPipeline')}</CardTitle>
            <CardBody>
              <Command name={t('imports.fromPipeline')} text={pipelineCommand()} />
            </CardBody>
          </Card>
        </StackItem>
      </Stack>
    </PageFrame>
  );
}

const pipelineCommand = () => `curl -sS "${location.origin}/api/v1/import/source-scan?source=SOURCE" \\
  -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\
  --data-binary @cbom.json`;

/** ImportList lists imports and their progress. */
function ImportList() {
  const { t, language } = useI18n();
  return (
    <ResourceList<ImportView>
      name={t('imports.list')}
      list={(query) => listImportsOptions({ query })}
      rowKey={({ id }) => id}
      icon={FileImportIcon}
      refresh={(rows) => (rows.every(isImportOver) ? false : REFRESH)}
      emptyTitle={t('imports.none')}
      columns={[
        {
          name: t('asset.source'),
          width: 35,
          cell: ({ id, outcome }) => (
            <Go to={`/imports/${id}`} className="sw-row-link">
              {outcome?.source ?? t('imports.one')}
            </Go>
          ),
        },
        { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
        {
          name: t('imports.size'),
          cell: ({ bytes }) =>
            Math.ceil(bytes / KILOBYTE).toLocaleString(language, {
              style: 'unit',
              unit: 'kilobyte',
            }),
        },
        {
          name: t('imports.received'),
          cell: ({ total, outcome }) => (outcome?.received ?? total).toLocaleString(language),
        },
        { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
      ]}
    />
  );
}

function ImportForm() {
  const { t } = useI18n();
  const navigate = useNavigate();
  const [file, setFile] = useState<File>();
  const [source, setSource] = useState('');
  const [mode, setMode] = useState<Order['mode']>('repair');
  const action = useAction(
    async ({ file: document, source: name, mode: how }: Order) => {
      const sent = await importSourceScan({
        body: document as never,
        bodySerializer: (body: unknown) => body as never,
        headers: { 'Content-Type': 'application/json' },
        query: { mode: how, async: true, ...(name === '' ? {} : { source: name }) },
      });
      // An asynchronous import returns the import, not its report.
      return { data: sent.data as ImportView };
    },
    { changes: ['listImports'], onDone: ({ id }) => void navigate({ to: `/imports/${id}` }) },
  );
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (file !== undefined) action.mutate({ file, source: source.trim() === '' ? file.name : source.trim(), mode });
  };
  return (
    <Form onSubmit={submit} aria-label={t('imports.do')}>
      <FormGroup label={t('imports.document')} fieldId="document" isRequired>
        <FileUpload
          id="document"
          filename={file?.name ?? ''}
          filenamePlaceholder={t('imports.drop')}
          filenameAriaLabel={t('imports.document')}
          browseButtonText={t('sign.choose')}
          clearButtonText={t('imports.clear')}
          hideDefaultPreview
          dropzoneProps={{ maxFiles: 1 }}
          onFileInputChange={(_event, chosen) => setFile(chosen)}
          onClearClick={() => setFile(undefined)}
        />
      </FormGroup>
      <FormGroup label={t('asset.source')} fieldId="source">
        <TextInput
          id="source"
          maxLength={500}
          value={source}
          placeholder={file?.name ?? ''}
          onChange={(_event, value) => setSource(value)}
        />
        <FormHelperText>
          <HelperText>
            <HelperTextItem>{t('imports.source.hint')}</HelperTextItem>
          </HelperText>
        </FormHelperText>
      </FormGroup>
      <FormGroup label={t('imports.mode')} role="radiogroup" fieldId="mode">
        {(['repair', 'strict'] as const).map((one) => (
          <Radio
            key={one}
            id={`mode-${one}`}
            name="mode"
            label={t(`imports.mode.${one}`)}
            isChecked={mode === one}
            onChange={() => setMode(one)}
          />
        ))}
      </FormGroup>
      {action.isError && <Problem error={action.error} />}
      <ActionGroup>
        <Button type="submit" isDisabled={file === undefined || action.isPending} isLoading={action.isPending}>
          {t('import')}
        </Button>
      </ActionGroup>
    </Form>
  );
}
