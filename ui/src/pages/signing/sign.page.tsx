import {
  ActionGroup,
  Alert,
  Button,
  Card,
  CardBody,
  Checkbox,
  ExpandableSection,
  Form,
  FormGroup,
  FormHelperText,
  FormSelect,
  FormSelectOption,
  HelperText,
  HelperTextItem,
  TextInput,
} from '@patternfly/react-core';
import { useNavigate } from '@tanstack/react-router';
import { type SyntheticEvent, useState } from 'react';
import { signDigest } from '../../api/generated/sdk.gen.js';
import type { SignDigestBody } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Problem } from '../../patterns/problem.js';
import { useAction } from '../../patterns/use-action.js';
import { FileDrop } from './file-drop.js';
import { DigestAlgorithmChoice } from './digest-algorithm-choice.js';
import type { DigestAlgorithm } from './hash.worker.js';
import { useFileDigest } from './use-file-digest.js';
import { keyOption, useSigningKeys } from './use-signing-keys.js';

const FORMATS = ['raw', 'cms', 'jws', 'sigstore-bundle'] as const;

interface Choices {
  readonly key: string;
  readonly algorithm: DigestAlgorithm;
  readonly format: (typeof FORMATS)[number];
  readonly timestamp: boolean;
  readonly reference: string;
}

/** SignPage hashes a file in the browser and requests a signature of its digest. The file is not uploaded. */
export function SignPage() {
  const { t } = useI18n();
  const navigate = useNavigate();
  const [file, setFile] = useState<File>();
  const [choices, setChoices] = useState<Choices>({
    key: '',
    algorithm: 'sha256',
    format: 'raw',
    timestamp: false,
    reference: '',
  });
  const hashed = useFileDigest(file, choices.algorithm);
  const sign = useAction((body: SignDigestBody, once) => signDigest({ body, headers: once }), {
    changes: ['listSigningRequests', 'listApprovals'],
    onDone: ({ requestId }) => void navigate({ to: `/requests/${requestId}` }),
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (file === undefined || hashed.digest === undefined) return;
    const { key, algorithm, format, timestamp, reference } = choices;
    sign.mutate({
      digest: hashed.digest,
      algorithm,
      format,
      metadata: { filename: file.name, size: file.size },
      ...(key === '' ? {} : { key }),
      ...(timestamp ? { timestamp } : {}),
      ...(reference === '' ? {} : { reference }),
    });
  };
  return (
    <PageFrame title={t('nav.sign')} lead={t('sign.lead')}>
      <Card>
        <CardBody>
          <Form onSubmit={submit} aria-label={t('nav.sign')}>
            <FileDrop file={file} onFile={setFile} hashed={hashed} algorithm={choices.algorithm} />
            <Options choices={choices} onChange={(change) => setChoices({ ...choices, ...change })} />
            {sign.isError && <Problem error={sign.error} />}
            <ActionGroup>
              <Button
                type="submit"
                isDisabled={hashed.digest === undefined || sign.isPending}
                isLoading={sign.isPending}
              >
                {t('sign.do')}
              </Button>
              {file !== undefined && (
                <Button variant="link" onClick={() => setFile(undefined)}>
                  {t('sign.chooseOther')}
                </Button>
              )}
            </ActionGroup>
          </Form>
        </CardBody>
      </Card>
    </PageFrame>
  );
}

function Options({ choices, onChange }: { choices: Choices; onChange: (change: Partial<Choices>) => void }) {
  const { t, named } = useI18n();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <KeyChoice value={choices.key} onChange={(key) => onChange({ key })} />
      <ExpandableSection
        toggleText={t('sign.options')}
        isExpanded={isOpen}
        onToggle={(_event, open) => setOpen(open)}
        isIndented
      >
        <div className="sw-form-rows">
          <DigestAlgorithmChoice value={choices.algorithm} onChange={(algorithm) => onChange({ algorithm })} />
          <FormGroup label={t('requests.format')} fieldId="format">
            <FormSelect
              id="format"
              value={choices.format}
              onChange={(_event, value) => onChange({ format: value as Choices['format'] })}
            >
              {FORMATS.map((value) => (
                <FormSelectOption key={value} value={value} label={named('format', value)} />
              ))}
            </FormSelect>
          </FormGroup>
          <FormGroup label={t('request.reference')} fieldId="reference">
            <TextInput
              id="reference"
              maxLength={200}
              value={choices.reference}
              onChange={(_event, reference) => onChange({ reference })}
            />
            <Hint text={t('sign.reference.hint')} />
          </FormGroup>
          <Checkbox
            id="timestamp"
            label={t('sign.timestamp')}
            description={t('sign.timestamp.hint')}
            isChecked={choices.timestamp}
            onChange={(_event, timestamp) => onChange({ timestamp })}
          />
        </div>
      </ExpandableSection>
    </>
  );
}

/** KeyChoice selects the signing key. Without `signing-keys:read`, the default key signs. */
function KeyChoice({ value, onChange }: { value: string; onChange: (key: string) => void }) {
  const { t } = useI18n();
  const { may } = useSession();
  const keys = useSigningKeys();
  if (!may('signing-keys:read')) return null;
  if (keys.data?.length === 0) {
    return <Alert component="h2" variant="warning" isInline title={t('sign.noKey')} />;
  }
  return (
    <FormGroup label={t('key')} fieldId="key">
      <FormSelect id="key" value={value} onChange={(_event, key) => onChange(key)}>
        <FormSelectOption value="" label={t('sign.defaultKey')} />
        {keys.data?.map((signingKey) => (
          <FormSelectOption key={signingKey.id} {...keyOption(signingKey)} />
        ))}
      </FormSelect>
    </FormGroup>
  );
}

function Hint({ text }: { text: string }) {
  return (
    <FormHelperText>
      <HelperText>
        <HelperTextItem>{text}</HelperTextItem>
      </HelperText>
    </FormHelperText>
  );
}
