import { Button, Content, FormGroup } from '@patternfly/react-core';
import { useRef, useState } from 'react';
import { useI18n } from '../../i18n/i18n.js';
import { readSignature, type SignatureFile } from './signature-file.js';

interface SignatureChoiceProps {
  readonly chosen: SignatureFile | undefined;
  readonly onChoice: (choice: SignatureFile | undefined) => void;
}

/** Takes the signature of a file, in whatever form it is. */
export function SignatureChoice({ chosen, onChoice }: SignatureChoiceProps) {
  const { t, named } = useI18n();
  const input = useRef<HTMLInputElement>(null);
  const [isTooLarge, setTooLarge] = useState(false);
  const choose = async (file: File) => {
    const read = await readSignature(file);
    setTooLarge(read === undefined);
    onChoice(read);
  };
  return (
    <FormGroup label={t('signature.title')} role="group" fieldId="signature">
      <input
        ref={input}
        type="file"
        className="sw-hidden"
        tabIndex={-1}
        aria-label={t('verify.choose')}
        onChange={({ target }) => {
          const file = target.files?.[0];
          if (file !== undefined) void choose(file);
          target.value = '';
        }}
      />
      <Button id="signature" variant="secondary" onClick={() => input.current?.click()}>
        {t('verify.choose')}
      </Button>{' '}
      {chosen !== undefined && (
        <span>
          <strong>{chosen.name}</strong> <span className="sw-muted">{named('format', chosen.format ?? 'raw')}</span>
        </span>
      )}
      <Content component="small">{t(isTooLarge ? 'verify.tooLarge' : 'verify.forms')}</Content>
    </FormGroup>
  );
}
