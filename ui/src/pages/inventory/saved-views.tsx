import { Divider, Dropdown, DropdownGroup, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core';
import BookmarkIcon from '@patternfly/react-icons/dist/esm/icons/bookmark-icon';
import { useQuery, type UseMutationResult } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import { listAssetViewsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changeAssetView, createAssetView, removeAssetView } from '../../api/generated/sdk.gen.js';
import type { SavedViewBody, SavedViewView } from '../../api/generated/types.gen.js';
import type { ApiProblem } from '../../api/problem.js';
import { useSession } from '../../app/session.js';
import { listOf, readSearch, type UrlState, useUrlState, writeSearch } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { textOf, type Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

const STORED = 'sealwright.views.assets';

interface View {
  readonly name: string;
  readonly search: string;
}

function stored(): readonly View[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]');
    return Array.isArray(views) ? (views as View[]) : [];
  } catch {
    return [];
  }
}

/** queryOf converts the filters in the URL to a query of the API. */
function queryOf(filters: UrlState): string {
  const text = (value: string) => JSON.stringify(value);
  const forms: Readonly<Record<string, (value: string) => string>> = {
    q: (value) => `(${value})`,
    name: (value) => `name=${text(`${value}*`)}`,
    location: (value) => `location=${text(`${value}*`)}`,
    minLevel: (value) => `level>=${value}`,
    expiresBefore: (value) => `notAfter<${value}`,
  };
  return Object.entries(filters)
    .filter(([name]) => name !== 'sort')
    .flatMap(([name, values]) => listOf(values).map((value) => forms[name]?.(value) ?? `${name}=${text(value)}`))
    .join(' and ');
}

function viewOf(name: string, filters: UrlState): SavedViewBody {
  const { sort } = filters;
  return {
    name,
    q: queryOf(filters),
    ...(typeof sort === 'string' ? { sort: sort as SavedViewBody['sort'] & string } : {}),
  };
}

const searchOf = ({ q, sort }: SavedViewView): UrlState => ({ q, ...(sort === 'id' ? {} : { sort }) });

/** SavedViews offers named filters, stored in this browser or by the service for everyone. */
export function SavedViews() {
  const { t } = useI18n();
  const { state } = useUrlState();
  const navigate = useNavigate();
  const [views, setViews] = useState(stored);
  const [isOpen, setOpen] = useState(false);
  const [isNaming, setNaming] = useState<'own' | 'shared'>();
  const [removed, setRemoved] = useState<SavedViewView>();
  const { may } = useSession();
  const shared = useQuery({ ...listAssetViewsOptions(), enabled: isOpen }).data?.items ?? [];
  const { cursor: _cursor, ...filters } = state;
  const search = writeSearch(filters);
  const keep = (now: readonly View[]) => {
    localStorage.setItem(STORED, JSON.stringify(now));
    setViews(now);
  };
  const save = useAction(
    async ({ name }: Values) => {
      keep([...views.filter((view) => view.name !== name), { name: textOf(name), search }]);
      return { data: undefined };
    },
    { changes: [], done: t('views.saved') },
  );
  const share = useAction(
    async ({ name }: Values, once): Promise<{ data: SavedViewView }> => {
      const body = viewOf(textOf(name), filters);
      const same = shared.find((view) => view.name === body.name);
      if (same === undefined) return createAssetView({ body, headers: once });
      return changeAssetView({ path: { id: same.id }, body, headers: ifMatch(same.version) });
    },
    { changes: ['listAssetViews'], done: t('views.saved') },
  );
  const currentShared = shared.find((view) => search === writeSearch(searchOf(view)));
  const current = views.find((view) => view.search === search && search !== '');
  return (
    <>
      <Dropdown
        isOpen={isOpen}
        onOpenChange={setOpen}
        onSelect={() => setOpen(false)}
        popperProps={{ position: 'right' }}
        toggle={(ref) => (
          <MenuToggle ref={ref} icon={<BookmarkIcon />} onClick={() => setOpen(!isOpen)} isExpanded={isOpen}>
            {current?.name ?? t('views.title')}
          </MenuToggle>
        )}
      >
        <DropdownList>
          {views.map((view) => (
            <DropdownItem
              key={view.name}
              isSelected={view === current}
              onClick={() => void navigate({ to: '/assets', search: readSearch(view.search) } as never)}
            >
              {view.name}
            </DropdownItem>
          ))}
          {views.length > 0 && <Divider />}
          <DropdownItem key="save" isDisabled={search === ''} onClick={() => setNaming('own')}>
            {t('views.save')}
          </DropdownItem>
          {may('inventory:write') && (
            <DropdownItem key="share" isDisabled={queryOf(filters) === ''} onClick={() => setNaming('shared')}>
              {t('views.share')}
            </DropdownItem>
          )}
          {current !== undefined && (
            <DropdownItem key="remove" onClick={() => keep(views.filter((view) => view !== current))}>
              {t('views.remove', { name: current.name })}
            </DropdownItem>
          )}
        </DropdownList>
        {shared.length > 0 && (
          <DropdownGroup label={t('views.shared')}>
            <DropdownList>
              {shared.map((view) => (
                <DropdownItem
                  key={view.id}
                  isSelected={view === currentShared}
                  onClick={() => void navigate({ to: '/assets', search: searchOf(view) } as never)}
                >
                  {view.name}
                </DropdownItem>
              ))}
              {currentShared !== undefined && may('inventory:write') && (
                <DropdownItem key="remove" onClick={() => setRemoved(currentShared)}>
                  {t('views.remove', { name: currentShared.name })}
                </DropdownItem>
              )}
            </DropdownList>
          </DropdownGroup>
        )}
      </Dropdown>
      {isNaming !== undefined && (
        <Name kind={isNaming} action={isNaming === 'own' ? save : share} onClose={() => setNaming(undefined)} />
      )}
      {removed !== undefined && <Remove view={removed} onClose={() => setRemoved(undefined)} />}
    </>
  );
}

interface NameProps {
  readonly kind: 'own' | 'shared';
  readonly action: UseMutationResult<unknown, ApiProblem, Values>;
  readonly onClose: () => void;
}

function Name({ kind, action, onClose }: NameProps) {
  const { t } = useI18n();
  return (
    <FormDialog
      title={t(kind === 'own' ? 'views.save' : 'views.share')}
      lead={t(kind === 'own' ? 'views.lead' : 'views.share.lead')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[{ name: 'name', label: t('name'), isRequired: true }]}
    />
  );
}

function Remove({ view: { id, name }, onClose }: { view: SavedViewView; onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => removeAssetView({ path: { id } }), {
    changes: ['listAssetViews'],
    done: t('removed'),
  });
  return (
    <Confirm
      title={t('views.remove', { name })}
      lead={t('views.remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
