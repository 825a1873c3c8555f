import { Breadcrumb, BreadcrumbItem, Content, Flex, FlexItem, PageSection, Title } from '@patternfly/react-core';
import { type ReactNode, useEffect } from 'react';
import { useI18n } from '../i18n/i18n.js';
import { Go } from './go.js';

interface PageFrameProps {
  readonly title: string;
  /** Purpose of the page, in one sentence. */
  readonly lead?: ReactNode;
  /** Buttons next to the heading, limited to those the caller may use. */
  readonly actions?: ReactNode;
  /** Content next to the heading, such as a status. */
  readonly badge?: ReactNode;
  /** Progress of the task that the page follows, prefixed to the window title. */
  readonly percent?: number | undefined;
  readonly parents?: readonly { readonly to: string; readonly name: string }[];
  readonly children: ReactNode;
}

/** PageFrame shows the heading, the breadcrumb and the window title of every page. */
export function PageFrame({ title, lead, actions, badge, percent, parents = [], children }: PageFrameProps) {
  const { t } = useI18n();
  useEffect(() => {
    document.title = [percent !== undefined && `${percent} %`, title, t('brand')].filter(Boolean).join(' · ');
  }, [title, percent, t]);
  return (
    <>
      <PageSection className="sw-page">
        {parents.length > 0 && (
          <Breadcrumb aria-label={t('breadcrumb')} className="sw-breadcrumb">
            {parents.map(({ to, name }) => (
              <BreadcrumbItem
                key={to}
                render={({ className }) => (
                  <Go to={to} className={className}>
                    {name}
                  </Go>
                )}
              />
            ))}
            <BreadcrumbItem isActive>{title}</BreadcrumbItem>
          </Breadcrumb>
        )}
        <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }} alignItems={{ default: 'alignItemsCenter' }}>
          <FlexItem>
            <Flex alignItems={{ default: 'alignItemsCenter' }}>
              <Title headingLevel="h1" className="sw-title">
                {title}
              </Title>
              {badge}
            </Flex>
            {lead !== undefined && (
              <Content component="p" className="sw-muted">
                {lead}
              </Content>
            )}
          </FlexItem>
          {actions !== undefined && <FlexItem className="sw-actions">{actions}</FlexItem>}
        </Flex>
      </PageSection>
      <PageSection className="sw-page" isFilled aria-label={title}>
        {children}
      </PageSection>
    </>
  );
}
