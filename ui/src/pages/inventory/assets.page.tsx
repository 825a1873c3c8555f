import { Button } from '@patternfly/react-core';
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon';
import DownloadIcon from '@patternfly/react-icons/dist/esm/icons/download-icon';
import { useNavigate } from '@tanstack/react-router';
import { listAssetsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { exportSignedCycloneDx } from '../../api/generated/sdk.gen.js';
import type { AssetView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { queries } from '../../app/queries.js';
import { pick, type UrlState, useUrlState, writeSearch } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import type { Filter } from '../../patterns/filter-bar.js';
import { Go } from '../../patterns/go.js';
import { LevelLabel, LEVELS, StatusLabel } from '../../patterns/labels.js';
import { Day } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { SavedViews } from './saved-views.js';
import { SignedDownload } from './signed-download.js';

const KINDS = ['algorithm', 'certificate', 'protocol', 'related-crypto-material', 'component'];
const STATES = ['active', 'stale', 'resolved'];

export function useAssetFilters(): Filter[] {
  const { t, named } = useI18n();
  const choice = (param: string, name: string, prefix: string, values: readonly string[]): Filter => ({
    kind: 'choice',
    param,
    name,
    isSingle: true,
    options: values.map((value) => ({ value, name: named(prefix, value) })),
  });
  const text = (param: string, name: string): Filter => ({ kind: 'text', param, name });
  const linked = (param: string, name: string): Filter => ({ kind: 'linked', param, name });
  return [
    text('name', t('assets.nameStarts')),
    choice('level', t('level'), 'level', LEVELS),
    choice('kind', t('kind'), 'kind', KINDS),
    text('family', t('family')),
    { ...choice('minLevel', t('assets.minLevel'), 'level', LEVELS.slice(0, -1)), isRare: true },
    { ...choice('state', t('status'), 'status', STATES), isRare: true },
    { ...text('location', t('assets.locationStarts')), isRare: true },
    { ...text('q', t('assets.query')), isRare: true },
    { kind: 'day', param: 'expiresBefore', name: t('assets.expiresBefore'), isRare: true },
    linked('quantum', t('axis.quantum')),
    linked('classical', t('axis.classical')),
    linked('rule', t('rules.rule')),
    linked('source', t('asset.source')),
  ];
}

/** withTimes converts the days in the URL to the times that the API requires. */
function withTimes(query: UrlState): Record<string, string | readonly string[]> {
  const { expiresBefore, ...rest } = query;
  return typeof expiresBefore === 'string'
    ? { ...rest, expiresBefore: `${expiresBefore.slice(0, 10)}T00:00:00Z` }
    : rest;
}

/** Parameters of `useAssetFilters`, for the query that starts before the page is loaded. */
const FILTERED = ['name', 'level', 'kind', 'family', 'minLevel', 'state', 'location', 'q', 'expiresBefore', 'quantum', 'classical', 'rule', 'source']; // prettier-ignore

const list = (query: UrlState) => listAssetsOptions({ query: { ...withTimes(query), total: true } });

export function readAhead(state: UrlState): void {
  void queries.prefetchQuery(list(pick(state, ['cursor', 'sort', ...FILTERED])));
}

export function AssetsPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const { state } = useUrlState();
  const navigate = useNavigate();
  const filters = useAssetFilters();
  const { cursor: _cursor, sort: _sort, ...exported } = state;
  return (
    <PageFrame
      title={t('nav.assets')}
      lead={t('assets.lead')}
      actions={
        <>
          <Button
            variant="secondary"
            icon={<DownloadIcon />}
            component="a"
            href={`/api/export/cyclonedx${writeSearch(withTimes(exported))}`}
            download
          >
            {t('assets.export')}
          </Button>
          <Button
            variant="secondary"
            icon={<DownloadIcon />}
            component="a"
            href={`/api/export/cyclonedx${writeSearch({ ...withTimes(exported), version: '1.7' })}`}
            download
          >
            {t('assets.export17')}
          </Button>
          <Button
            variant="secondary"
            icon={<DownloadIcon />}
            component="a"
            href={`/api/export/csv${writeSearch(withTimes(exported))}`}
            download
          >
            {t('assets.exportCsv')}
          </Button>
          <SignedDownload
            file="inventory.cdx.json"
            ask={(key) => exportSignedCycloneDx({ query: { ...withTimes(exported), key }, parseAs: 'blob' })}
          />
        </>
      }
    >
      <ResourceList<AssetView>
        name={t('nav.assets')}
        list={list}
        rowKey={({ id }) => id}
        icon={CubesIcon}
        filters={filters}
        params={['sort']}
        tools={<SavedViews />}
        emptyTitle={t('assets.none')}
        emptyBody={t('assets.none.body')}
        emptyAction={
          may('inventory:report') && (
            <Button onClick={() => void navigate({ to: '/imports' })}>{t('imports.do')}</Button>
          )
        }
        columns={[
          {
            name: t('name'),
            width: 30,
            sort: 'name',
            cell: ({ id, name }) => (
              <Go to={`/assets/${id}`} className="sw-row-link">
                {name}
              </Go>
            ),
          },
          { name: t('kind'), cell: ({ kind }) => <span className="sw-nowrap">{named('kind', kind)}</span> },
          { name: t('level'), sort: '-level', cell: ({ level }) => <LevelLabel level={level} /> },
          {
            name: t('family'),
            cell: ({ family, bits }) => (
              <span className="sw-nowrap">{[family, bits].filter(Boolean).join(' ') || '–'}</span>
            ),
          },
          { name: t('status'), cell: ({ state: status }) => <StatusLabel status={status} /> },
          { name: t('assets.deadline'), cell: ({ deadline }) => <Day at={deadline} /> },
          { name: t('assets.ends'), sort: 'notAfter', cell: ({ notAfter }) => <Day at={notAfter} /> },
        ]}
      />
    </PageFrame>
  );
}
