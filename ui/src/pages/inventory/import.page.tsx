import { Alert, Card, CardBody, Stack, StackItem } from '@patternfly/react-core';
import { getImportOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { ImportView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { StatusLabel } from '../../patterns/labels.js';
import { LiveProgress } from '../../patterns/live-progress.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useLive } from '../../patterns/use-live.js';
import { ImportReport } from './import-report.js';

const ALL = 100;

export const isImportOver = ({ endedAt }: ImportView): boolean => endedAt !== null;

const percentOf = ({ done, total }: ImportView): number =>
  total === 0 ? 0 : Math.min(ALL - 1, Math.floor((done / total) * ALL));

/** ImportPage shows the progress and the report of an import. */
export function ImportPage() {
  const { t } = useI18n();
  const id = useResourceId();
  const query = useLive<ImportView>({
    options: getImportOptions({ path: { id } }),
    events: `/api/imports/${id}/events`,
    isFinal: isImportOver,
  });
  return (
    <ResourcePage
      query={query}
      kind={t('imports.one')}
      parent={{ to: '/imports', name: t('nav.imports') }}
      title={(taken) => taken.outcome?.source}
      percent={(taken) => (isImportOver(taken) ? undefined : percentOf(taken))}
      badge={(taken) => <StatusLabel status={taken.status} />}
    >
      {(taken) => (
        <Stack hasGutter>
          <StackItem>
            <Progress taken={taken} />
          </StackItem>
          {taken.problem !== undefined && (
            <StackItem>
              <Alert component="h2" isInline variant="danger" title={taken.problem.code}>
                <p>{taken.problem.detail}</p>
                {taken.problem.errors.map(({ pointer, detail }) => (
                  <p key={`${pointer} ${detail}`}>
                    <span className="sw-mono">{pointer}</span> {detail}
                  </p>
                ))}
              </Alert>
            </StackItem>
          )}
          {taken.outcome !== undefined && (
            <StackItem>
              <ImportReport report={taken.outcome} />
            </StackItem>
          )}
        </Stack>
      )}
    </ResourcePage>
  );
}

function Progress({ taken }: { taken: ImportView }) {
  const { t, named } = useI18n();
  const { done, total, phase, status } = taken;
  const counted =
    phase === null || isImportOver(taken)
      ? ''
      : `${named('importPhase', phase)} · ${t('imports.counted', { done, total })}`;
  return (
    <Card>
      <CardBody>
        <LiveProgress
          name={t('imports.progress')}
          percent={isImportOver(taken) ? ALL : percentOf(taken)}
          counted={counted}
          startedAt={taken.startedAt ?? undefined}
          isOver={isImportOver(taken)}
          isGood={taken.outcome !== undefined}
          end={t('imports.ended', { status: named('status', status) })}
        />
      </CardBody>
    </Card>
  );
}
