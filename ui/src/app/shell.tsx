import {
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadMain,
  MastheadToggle,
  Nav,
  NavGroup,
  NavItem,
  Page,
  PageSidebar,
  PageSidebarBody,
  PageToggleButton,
  SkipToContent,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core';
import BarsIcon from '@patternfly/react-icons/dist/esm/icons/bars-icon';
import { useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { useI18n } from '../i18n/i18n.js';
import { Go } from '../patterns/go.js';
import { Logo } from '../theme/logo.js';
import { AREAS, type Destination } from './navigation.js';
import { ColorSchemeMenu, PersonMenu } from './person-menu.js';
import { useSession } from './session.js';

const MAIN = 'main';
const SIDEBAR = '.pf-v6-c-page__sidebar';

export function Shell({ children }: { children: ReactNode }) {
  const { t } = useI18n();
  useFocusOnNewPage();
  return (
    <Page
      masthead={<Head />}
      sidebar={
        <PageSidebar>
          <PageSidebarBody>
            <Navigation />
          </PageSidebarBody>
        </PageSidebar>
      }
      isManagedSidebar
      mainContainerId={MAIN}
      skipToContent={<SkipToContent href={`#${MAIN}`}>{t('shell.skip')}</SkipToContent>}
      defaultManagedSidebarIsOpen
    >
      {children}
    </Page>
  );
}

function Head() {
  const { t } = useI18n();
  return (
    <Masthead>
      <MastheadMain>
        <MastheadToggle>
          <PageToggleButton variant="plain" aria-label={t('shell.toggle')} id="nav-toggle">
            <BarsIcon />
          </PageToggleButton>
        </MastheadToggle>
        <MastheadBrand>
          <Go to="/" className="sw-brand">
            <Logo />
            <span className="sw-brand__name">{t('brand')}</span>
          </Go>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar isStatic>
          <ToolbarContent>
            <ToolbarGroup align={{ default: 'alignEnd' }} gap={{ default: 'gapSm' }}>
              <ToolbarItem>
                <ColorSchemeMenu />
              </ToolbarItem>
              <ToolbarItem>
                <PersonMenu />
              </ToolbarItem>
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  );
}

function Navigation() {
  const { t } = useI18n();
  const { may } = useSession();
  const { pathname } = useLocation();
  useEffect(scrollToEntry, [pathname]);
  const visible = ({ scope }: Destination) => scope === undefined || may(scope);
  return (
    <Nav aria-label={t('shell.navigation')}>
      {AREAS.filter(({ destinations }) => destinations.some(visible)).map(({ name, destinations }) => (
        <NavGroup key={name} title={t(name)}>
          {destinations.filter(visible).map(({ path, name: label }) => {
            const isActive = path === '/' ? pathname === '/' : pathname === path || pathname.startsWith(`${path}/`);
            return (
              <NavItem key={path} isActive={isActive}>
                <Go to={path} {...(isActive ? { 'aria-current': 'page' as const } : {})}>
                  {t(label)}
                </Go>
              </NavItem>
            );
          })}
        </NavGroup>
      ))}
    </Nav>
  );
}

/** scrollToEntry scrolls the navigation to the entry of the current page. `scrollIntoView` would move the starting point for Tab. */
function scrollToEntry(): void {
  const sidebar = document.querySelector(SIDEBAR);
  const entry = sidebar?.querySelector('[aria-current=page]')?.getBoundingClientRect();
  if (!sidebar || !entry) return;
  const hidden = entry.bottom - sidebar.getBoundingClientRect().bottom;
  if (hidden > 0) sidebar.scrollTop += hidden + sidebar.clientHeight / 3;
}

/** useFocusOnNewPage moves the focus to the heading of a new page, so that screen readers announce it. Filter changes keep the focus. */
function useFocusOnNewPage(): void {
  const { pathname } = useLocation();
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    document.getElementById(MAIN)?.focus({ preventScroll: true });
  }, [pathname]);
}
