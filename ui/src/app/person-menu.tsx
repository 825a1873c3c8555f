import { Divider, Dropdown, DropdownGroup, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core';
import DesktopIcon from '@patternfly/react-icons/dist/esm/icons/desktop-icon';
import MoonIcon from '@patternfly/react-icons/dist/esm/icons/moon-icon';
import SunIcon from '@patternfly/react-icons/dist/esm/icons/sun-icon';
import UserIcon from '@patternfly/react-icons/dist/esm/icons/user-icon';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { LANGUAGES, useI18n } from '../i18n/i18n.js';
import { chooseColorScheme, type ColorScheme, useColorScheme } from '../theme/color-scheme.js';
import { useSession } from './session.js';

const SCHEMES = { light: SunIcon, dark: MoonIcon, system: DesktopIcon };

export function ColorSchemeMenu() {
  const { t } = useI18n();
  const { scheme, isDark } = useColorScheme();
  const [isOpen, setOpen] = useState(false);
  const Icon = isDark ? MoonIcon : SunIcon;
  return (
    <Dropdown
      isOpen={isOpen}
      onOpenChange={setOpen}
      onSelect={(_event, value) => {
        chooseColorScheme(value as ColorScheme);
        setOpen(false);
      }}
      popperProps={{ position: 'right' }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          variant="plain"
          aria-label={t('shell.colorScheme')}
          onClick={() => setOpen(!isOpen)}
          isExpanded={isOpen}
          icon={<Icon />}
        />
      )}
    >
      <DropdownList>
        {Object.entries(SCHEMES).map(([name, SchemeIcon]) => (
          <DropdownItem key={name} value={name} icon={<SchemeIcon />} isSelected={name === scheme}>
            {t(`shell.colorScheme.${name as ColorScheme}`)}
          </DropdownItem>
        ))}
      </DropdownList>
    </Dropdown>
  );
}

export function PersonMenu() {
  const { t, language, setLanguage } = useI18n();
  const { caller, signOut } = useSession();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  return (
    <Dropdown
      isOpen={isOpen}
      onOpenChange={setOpen}
      onSelect={() => setOpen(false)}
      popperProps={{ position: 'right' }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          onClick={() => setOpen(!isOpen)}
          isExpanded={isOpen}
          icon={<UserIcon />}
          aria-label={t('shell.person', { name: caller?.name ?? '' })}
        >
          <span className="sw-person">{caller?.name}</span>
        </MenuToggle>
      )}
    >
      <DropdownList>
        <DropdownItem key="profile" onClick={() => void navigate({ to: '/profile' })}>
          {t('nav.profile')}
        </DropdownItem>
      </DropdownList>
      <Divider />
      <DropdownGroup label={t('shell.language')}>
        <DropdownList>
          {LANGUAGES.map(({ id, name }) => (
            <DropdownItem key={id} lang={id} onClick={() => setLanguage(id)} isSelected={id === language}>
              {name}
            </DropdownItem>
          ))}
        </DropdownList>
      </DropdownGroup>
      <Divider />
      <DropdownList>
        <DropdownItem key="out" onClick={() => void signOut()}>
          {t('shell.signOut')}
        </DropdownItem>
      </DropdownList>
    </Dropdown>
  );
}
