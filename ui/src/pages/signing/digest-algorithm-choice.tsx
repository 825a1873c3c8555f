import { FormGroup, FormSelect, FormSelectOption } from '@patternfly/react-core';
import { useI18n } from '../../i18n/i18n.js';
import { DIGEST_ALGORITHMS } from './digest-algorithms.js';
import type { DigestAlgorithm } from './hash.worker.js';

interface DigestAlgorithmChoiceProps {
  readonly value: DigestAlgorithm;
  readonly onChange: (algorithm: DigestAlgorithm) => void;
}

export function DigestAlgorithmChoice({ value, onChange }: DigestAlgorithmChoiceProps) {
  const { t } = useI18n();
  return (
    <FormGroup label={t('sign.algorithm')} fieldId="algorithm">
      <FormSelect id="algorithm" value={value} onChange={(_event, chosen) => onChange(chosen as DigestAlgorithm)}>
        {DIGEST_ALGORITHMS.map((algorithm) => (
          <FormSelectOption key={algorithm} value={algorithm} label={algorithm.toUpperCase()} />
        ))}
      </FormSelect>
    </FormGroup>
  );
}
