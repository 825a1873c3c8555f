import { Label, LabelGroup } from '@patternfly/react-core';
import { useI18n } from '../../i18n/i18n.js';

/** Sources lists the sources of a rule. @param most number of sources shown initially */
export function Sources({ standards, most }: { standards: readonly string[]; most: number }) {
  const { t } = useI18n();
  return (
    <LabelGroup numLabels={most} aria-label={t('finding.standards')}>
      {standards.map((standard) => (
        <Label key={standard} isCompact variant="outline">
          {standard}
        </Label>
      ))}
    </LabelGroup>
  );
}
