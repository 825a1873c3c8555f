import { EmptyState, EmptyStateBody, PageSection } from '@patternfly/react-core';
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon';
import { useI18n } from '../i18n/i18n.js';
import { Go } from '../patterns/go.js';

export function NotFound() {
  const { t } = useI18n();
  return (
    <PageSection>
      <EmptyState headingLevel="h1" titleText={t('notFound.title')} icon={SearchIcon}>
        <EmptyStateBody>
          <p>{t('notFound.body')}</p>
          <Go to="/">{t('notFound.home')}</Go>
        </EmptyStateBody>
      </EmptyState>
    </PageSection>
  );
}
