import { Dropdown, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core';
import EllipsisVIcon from '@patternfly/react-icons/dist/esm/icons/ellipsis-v-icon';
import { useState } from 'react';
import { useI18n } from '../i18n/i18n.js';

export interface RowAction {
  readonly name: string;
  readonly run: () => void;
  readonly isDanger?: boolean;
}

/** RowActions is the menu at the end of a row. It is omitted if no action is allowed. */
export function RowActions({ actions, of }: { actions: readonly (RowAction | false)[]; of: string }) {
  const { t } = useI18n();
  const [isOpen, setOpen] = useState(false);
  const usable = actions.filter((action) => action !== false);
  if (usable.length === 0) return null;
  return (
    <Dropdown
      isOpen={isOpen}
      onOpenChange={setOpen}
      onSelect={() => setOpen(false)}
      popperProps={{ position: 'right' }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          variant="plain"
          icon={<EllipsisVIcon />}
          aria-label={t('actionsOf', { name: of })}
          isExpanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        />
      )}
    >
      <DropdownList>
        {usable.map(({ name, run, isDanger = false }) => (
          <DropdownItem key={name} onClick={run} isDanger={isDanger}>
            {name}
          </DropdownItem>
        ))}
      </DropdownList>
    </Dropdown>
  );
}
