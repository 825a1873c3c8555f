import {
  Badge,
  Button,
  InputGroup,
  InputGroupText,
  MenuToggle,
  SearchInput,
  Select,
  SelectList,
  SelectOption,
  TextInput,
  Toolbar,
  ToolbarContent,
  ToolbarFilter,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useUrlState } from '../app/url-state.js';
import { useI18n } from '../i18n/i18n.js';

interface Common {
  readonly param: string;
  readonly name: string;
  /** Shown under "More filters", or when it is set. */
  readonly isRare?: boolean;
}

export interface ChoiceFilter extends Common {
  readonly kind: 'choice';
  readonly options: readonly { readonly value: string; readonly name: string }[];
  /** Allows a single selected option. */
  readonly isSingle?: boolean;
}

export interface TextFilter extends Common {
  readonly kind: 'text';
}

/** DayFilter limits a list to entries up to or from a day, `YYYY-MM-DD` in the URL. */
export interface DayFilter extends Common {
  readonly kind: 'day';
}

/** LinkedFilter is a filter that only links set, such as one host. It is shown while it is set and can be removed. */
export interface LinkedFilter extends Common {
  readonly kind: 'linked';
  /** Returns the display name of a value, such as the name of a host. Defaults to the value. */
  readonly nameOf?: (value: string) => ReactNode;
}

export type Filter = ChoiceFilter | TextFilter | DayFilter | LinkedFilter;

const REST_MS = 400;

/** useFilters returns the filters that are set, for `isFiltered` and `clear` of the table. */
export function useFilters(filters: readonly Filter[]): { readonly isFiltered: boolean; readonly clear: () => void } {
  const { one, change } = useUrlState();
  return {
    isFiltered: filters.some(({ param }) => one(param) !== undefined),
    clear: () => change(Object.fromEntries(filters.map(({ param }) => [param, undefined]))),
  };
}

/** FilterBar shows filters as pills. Their state is in the URL, so that a view can be shared as a link and Back undoes a filter. */
export function FilterBar({ filters, children }: { filters: readonly Filter[]; children?: ReactNode }) {
  const { t } = useI18n();
  const { clear } = useFilters(filters);
  const { one } = useUrlState();
  const [showsAll, setShowsAll] = useState(false);
  const offered = filters.filter(({ kind, param }) => kind !== 'linked' || one(param) !== undefined);
  const shown = offered.filter(({ isRare, param }) => !isRare || showsAll || one(param) !== undefined);
  return (
    <Toolbar
      clearAllFilters={clear}
      clearFiltersButtonText={t('list.clear')}
      numberOfFiltersText={(count) => t('list.filters', { count })}
      inset={{ default: 'insetNone' }}
    >
      <ToolbarContent>
        <ToolbarGroup variant="filter-group">
          {shown.map((filter) =>
            filter.kind === 'choice' ? (
              <ChoicePill key={filter.param} filter={filter} />
            ) : filter.kind === 'text' ? (
              <TextPill key={filter.param} filter={filter} />
            ) : filter.kind === 'day' ? (
              <DayPill key={filter.param} filter={filter} />
            ) : (
              <LinkedPill key={filter.param} filter={filter} />
            ),
          )}
          {(showsAll || shown.length < offered.length) && (
            <ToolbarItem>
              <Button variant="link" aria-expanded={showsAll} onClick={() => setShowsAll(!showsAll)}>
                {t(showsAll ? 'list.fewerFilters' : 'list.moreFilters')}
              </Button>
            </ToolbarItem>
          )}
        </ToolbarGroup>
        {children !== undefined && (
          <ToolbarGroup align={{ default: 'alignEnd' }} variant="action-group">
            {children}
          </ToolbarGroup>
        )}
      </ToolbarContent>
    </Toolbar>
  );
}

function TextPill({ filter: { param, name } }: { filter: TextFilter }) {
  const { t } = useI18n();
  const { one, change } = useUrlState();
  const inUrl = one(param) ?? '';
  const [text, setText] = useState(inUrl);
  // A URL change replaces the text unless typing caused it.
  const applied = useRef(inUrl);
  useEffect(() => {
    if (inUrl === applied.current) return;
    applied.current = inUrl;
    setText(inUrl);
  }, [inUrl]);
  // Wait for a pause in typing before searching.
  useEffect(() => {
    const trimmed = text.trim();
    if (trimmed === applied.current) return undefined;
    const rest = setTimeout(() => {
      applied.current = trimmed;
      change({ [param]: trimmed === '' ? undefined : trimmed });
    }, REST_MS);
    return () => clearTimeout(rest);
  }, [text, change, param]);
  return (
    <ToolbarFilter
      categoryName={name}
      labels={inUrl === '' ? [] : [inUrl]}
      deleteLabel={() => change({ [param]: undefined })}
    >
      <ToolbarItem>
        <SearchInput
          aria-label={name}
          placeholder={name}
          value={text}
          onChange={(_event, value) => setText(value)}
          onClear={() => change({ [param]: undefined })}
          resetButtonLabel={t('list.clear')}
        />
      </ToolbarItem>
    </ToolbarFilter>
  );
}

function DayPill({ filter: { param, name } }: { filter: DayFilter }) {
  const { one, change } = useUrlState();
  const day = one(param) ?? '';
  return (
    <ToolbarFilter
      categoryName={name}
      labels={day === '' ? [] : [day]}
      deleteLabel={() => change({ [param]: undefined })}
    >
      <ToolbarItem>
        <InputGroup>
          <InputGroupText isPlain>{name}</InputGroupText>
          <TextInput
            type="date"
            aria-label={name}
            value={day}
            onChange={(_event, value) => change({ [param]: value === '' ? undefined : value })}
          />
        </InputGroup>
      </ToolbarItem>
    </ToolbarFilter>
  );
}

function LinkedPill({ filter: { param, name, nameOf = (value) => value } }: { filter: LinkedFilter }) {
  const { all, change } = useUrlState();
  return (
    <ToolbarFilter
      categoryName={name}
      labels={all(param).map((value) => ({ key: value, node: nameOf(value) }))}
      deleteLabel={() => change({ [param]: undefined })}
    >
      {undefined}
    </ToolbarFilter>
  );
}

function ChoicePill({ filter: { param, name, options, isSingle = false } }: { filter: ChoiceFilter }) {
  const { all, change } = useUrlState();
  const [isOpen, setOpen] = useState(false);
  const chosen = all(param);
  const nameOf = (value: string) => options.find((option) => option.value === value)?.name ?? value;
  const toggle = (value: string) => {
    const rest = chosen.filter((one) => one !== value);
    const now = rest.length < chosen.length ? rest : isSingle ? [value] : [...chosen, value];
    change({ [param]: now.length === 0 ? undefined : now });
    if (isSingle) setOpen(false);
  };
  return (
    <ToolbarFilter
      categoryName={{ key: param, name }}
      labels={chosen.map((value) => ({ key: value, node: nameOf(value) }))}
      deleteLabel={(_category, label) => toggle(typeof label === 'string' ? label : label.key)}
      deleteLabelGroup={() => change({ [param]: undefined })}
    >
      <Select
        role="menu"
        isOpen={isOpen}
        onOpenChange={setOpen}
        selected={chosen}
        onSelect={(_event, value) => toggle(String(value))}
        toggle={(ref) => (
          <MenuToggle ref={ref} onClick={() => setOpen(!isOpen)} isExpanded={isOpen}>
            {name} {chosen.length > 0 && <Badge isRead>{chosen.length}</Badge>}
          </MenuToggle>
        )}
      >
        <SelectList>
          {options.map((option) => (
            <SelectOption
              key={option.value}
              value={option.value}
              hasCheckbox={!isSingle}
              isSelected={chosen.includes(option.value)}
            >
              {option.name}
            </SelectOption>
          ))}
        </SelectList>
      </Select>
    </ToolbarFilter>
  );
}
