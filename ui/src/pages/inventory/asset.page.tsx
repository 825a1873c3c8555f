import {
  Button,
  Card,
  CardBody,
  CardTitle,
  Label,
  Stack,
  StackItem,
  Tab,
  Tabs,
  TabTitleText,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { getAssetOptions, listAssetOccurrencesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { AssetDetailView, AssetView, OccurrenceView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command, Copyable } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { Facts } from '../../patterns/facts.js';
import { LevelLabel, StatusLabel } from '../../patterns/labels.js';
import { Day, Moment } from '../../patterns/moment.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { AnnotateDialog } from './annotate-dialog.js';
import { AssetLinks } from './asset-links.js';
import { Findings } from './findings.js';
import { Relations } from './relations.js';
import { SourceLink } from './source-link.js';

const TABS = ['why', 'where', 'relations', 'links', 'component'] as const;

export function AssetPage() {
  const { t } = useI18n();
  const id = useResourceId();
  const { may } = useSession();
  const { one, change } = useUrlState();
  const [isAnnotating, setAnnotating] = useState(false);
  const query = useQuery(getAssetOptions({ path: { id } }));
  const tab = one('tab') ?? 'why';
  return (
    <ResourcePage
      query={query}
      kind={t('asset')}
      parent={{ to: '/assets', name: t('nav.assets') }}
      title={(asset) => asset.name}
      badge={(asset) => (
        <>
          <LevelLabel level={asset.level} />
          <StatusLabel status={asset.state} />
        </>
      )}
      actions={() =>
        may('inventory:write') && (
          <Button variant="secondary" onClick={() => setAnnotating(true)}>
            {t('edit')}
          </Button>
        )
      }
    >
      {(asset) => (
        <Stack hasGutter>
          <StackItem>
            <AssetFacts asset={asset} />
          </StackItem>
          <StackItem>
            <Tabs
              activeKey={tab}
              onSelect={(_event, key) => change({ tab: key === 'why' ? undefined : String(key) })}
              aria-label={t('asset.views')}
              mountOnEnter
              unmountOnExit
            >
              {TABS.map((key) => (
                <Tab key={key} eventKey={key} title={<TabTitleText>{t(`asset.${key}`)}</TabTitleText>}>
                  <div className="sw-tab">
                    {key === 'why' && <Findings asset={asset} />}
                    {key === 'where' && <Occurrences id={id} />}
                    {key === 'relations' && <Relations asset={asset} />}
                    {key === 'links' && <AssetLinks id={id} />}
                    {key === 'component' && (
                      <Command text={JSON.stringify(asset.component, undefined, 2)} name={t('asset.component')} />
                    )}
                  </div>
                </Tab>
              ))}
            </Tabs>
          </StackItem>
          {isAnnotating && <AnnotateDialog asset={asset} onClose={() => setAnnotating(false)} />}
        </Stack>
      )}
    </ResourcePage>
  );
}

/** NextDeadline shows the next deadline of an asset and its authority. */
function NextDeadline({ asset: { deadline, deadlineBy } }: { asset: Pick<AssetView, 'deadline' | 'deadlineBy'> }) {
  const { t } = useI18n();
  return (
    <>
      <Day at={deadline} />{' '}
      {deadlineBy && (
        <>
          <SourceLink {...deadlineBy} />{' '}
          <span className="sw-muted">{t(deadlineBy.binding ? 'deadlines.binding' : 'deadlines.advice')}</span>
        </>
      )}
      <p className="sw-muted">{t('deadlines.nextNote')}</p>
    </>
  );
}

function AssetFacts({ asset }: { asset: AssetDetailView }) {
  const { t, named } = useI18n();
  return (
    <Card>
      <CardTitle component="h2">{t('request.facts')}</CardTitle>
      <CardBody>
        <Facts
          facts={[
            [t('kind'), named('kind', asset.kind)],
            [t('family'), [asset.family, asset.bits].filter(Boolean).join(' ')],
            [t('assets.deadline'), asset.deadline && <NextDeadline key="d" asset={asset} />],
            [t('assets.ends'), asset.notAfter && <Day key="e" at={asset.notAfter} />],
            [t('asset.owner'), asset.owner],
            [t('asset.labels'), asset.labels.length > 0 ? <Labels key="l" labels={asset.labels} /> : null],
            [t('asset.firstSeen'), <Moment key="f" at={asset.firstSeen} />],
            [t('asset.changed'), <Moment key="c" at={asset.changedAt} />],
            [t('id'), <Copyable key="i" text={asset.id} />],
          ]}
        />
      </CardBody>
    </Card>
  );
}

function Labels({ labels }: { labels: readonly string[] }) {
  return (
    <span className="sw-labels">
      {labels.map((label) => (
        <Label key={label} isCompact>
          {label}
        </Label>
      ))}
    </span>
  );
}

function Occurrences({ id }: { id: string }) {
  const { t } = useI18n();
  const { one } = useUrlState();
  const query = useQuery(
    listAssetOccurrencesOptions({
      path: { id },
      query: one('cursor') === undefined ? {} : { cursor: one('cursor') ?? '' },
    }),
  );
  return (
    <DataTable<OccurrenceView>
      name={t('asset.where')}
      query={query}
      rowKey={({ sourceId, location, line, offset }) => `${sourceId} ${location} ${line ?? ''} ${offset ?? ''}`}
      empty={<p className="sw-muted">{t('asset.nowhere')}</p>}
      columns={[
        { name: t('asset.source'), cell: ({ source }) => source },
        {
          name: t('asset.location'),
          width: 40,
          cell: ({ location, line }) => (
            <span className="sw-mono">{line === null ? location : `${location}:${line}`}</span>
          ),
        },
        { name: t('asset.context'), cell: ({ symbol, additionalContext }) => symbol ?? additionalContext ?? '–' },
        { name: t('asset.firstSeen'), cell: ({ firstSeen }) => <Moment at={firstSeen} /> },
        { name: t('asset.lastSeen'), cell: ({ lastSeen }) => <Moment at={lastSeen} /> },
      ]}
    />
  );
}
