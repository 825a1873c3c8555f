import { Button, Content, FormGroup } from '@patternfly/react-core';
import { useState } from 'react';
import { useI18n } from '../../i18n/i18n.js';
import { readSignature, type SignatureFile } from './signature-file.js';
import { useFileInput } from './use-file-input.js';

interface SignatureChoiceProps {
  readonly chosen: SignatureFile | undefined;
  readonly onChoice: (choice: SignatureFile | undefined) => void;
}

/** SignatureChoice is a file input for signatures in any supported format. */
export function SignatureChoice({ chosen, onChoice }: SignatureChoiceProps) {
  const { t, named } = useI18n();
  const [isTooLarge, setTooLarge] = useState(false);
  const choose = async (file: File) => {
    const read = await readSignature(file);
    setTooLarge(read === undefined);
    onChoice(read);
  };
  const { field, open } = useFileInput(t('verify.choose'), (file) => void choose(file));
  return (
    <FormGroup label={t('signature.title')} role="group" fieldId="signature">
      {field}
      <Button id="signature" variant="secondary" onClick={open}>
        {t('verify.choose')}
      </Button>{' '}
      {chosen !== undefined && (
        <span>
          <strong>{chosen.name}</strong> <span className="sw-muted">{named('format', chosen.format)}</span>
        </span>
      )}
      <Content component="small">{t(isTooLarge ? 'verify.tooLarge' : 'verify.forms')}</Content>
    </FormGroup>
  );
}
