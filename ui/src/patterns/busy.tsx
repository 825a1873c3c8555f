import { Bullseye, Spinner } from '@patternfly/react-core';
import { useI18n } from '../i18n/i18n.js';

export function Busy() {
  const { t } = useI18n();
  return (
    <Bullseye>
      <Spinner size="lg" aria-label={t('busy')} />
    </Bullseye>
  );
}
