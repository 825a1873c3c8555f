import { Button } from '@patternfly/react-core';
import SignatureIcon from '@patternfly/react-icons/dist/esm/icons/file-signature-icon';
import { useState } from 'react';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { download } from '../../patterns/download.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { textOf, type Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';
import { keyOption, useSigningKeys } from '../signing/use-signing-keys.js';

interface SignedDownloadProps {
  readonly file: string;
  /** Reads the document, signed with this key, as a Blob. */
  readonly ask: (key: string) => Promise<{ data: unknown }>;
}

/** SignedDownload downloads a document with an enveloped signature. It requires `sign:digest`. */
export function SignedDownload(props: SignedDownloadProps) {
  const { t } = useI18n();
  const { may } = useSession();
  const [isAsking, setAsking] = useState(false);
  if (!may('sign:digest') || !may('signing-keys:read')) return null;
  return (
    <>
      <Button variant="secondary" icon={<SignatureIcon />} onClick={() => setAsking(true)}>
        {t('assets.exportSigned')}
      </Button>
      {isAsking && <KeyDialog {...props} onClose={() => setAsking(false)} />}
    </>
  );
}

function KeyDialog({ file, ask, onClose }: SignedDownloadProps & { onClose: () => void }) {
  const { t } = useI18n();
  const keys = useSigningKeys();
  const action = useAction(async ({ key }: Values) => ({ data: (await ask(textOf(key))).data as Blob }), {
    changes: ['listSigningRequests'],
    onDone: (document) => download(file, document, document.type),
  });
  if (keys.data === undefined) return null;
  const usable = keys.data.filter(({ type }) => /^(?:ec|rsa)-/.test(type));
  return (
    <FormDialog
      title={t('assets.exportSigned')}
      lead={t(usable.length === 0 ? 'assets.exportSigned.none' : 'assets.exportSigned.lead')}
      submit={t('assets.exportSigned')}
      action={action}
      onClose={onClose}
      fields={[
        {
          name: 'key',
          kind: 'choice',
          label: t('key'),
          isRequired: true,
          options: usable.map(keyOption),
        },
      ]}
    />
  );
}
