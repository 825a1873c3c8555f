import {
  Button,
  EmptyState,
  EmptyStateActions,
  EmptyStateBody,
  EmptyStateFooter,
  PageSection,
} from '@patternfly/react-core';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import { useI18n } from '../i18n/i18n.js';

/** Crashed replaces a page that failed to render or to load. After an update, the previous version's files no longer exist. */
export function Crashed({ error }: { error: unknown }) {
  const { t } = useI18n();
  return (
    <PageSection>
      <EmptyState headingLevel="h1" titleText={t('crashed.title')} icon={ExclamationCircleIcon} status="danger">
        <EmptyStateBody>
          <p>{t('crashed.body')}</p>
          <p className="sw-mono">{error instanceof Error ? error.message : ''}</p>
        </EmptyStateBody>
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button onClick={() => location.reload()}>{t('crashed.reload')}</Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      </EmptyState>
    </PageSection>
  );
}
