import { Card, CardBody } from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { getReclassificationOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { ReclassificationView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { LiveProgress } from '../../patterns/live-progress.js';
import { Failed } from '../../patterns/problem.js';
import { useLive } from '../../patterns/use-live.js';

const ALL = 100;

/** Reassessment shows the progress of the reassessment for a version of the rules. */
export function Reassessment({ version }: { version: number }) {
  const { t } = useI18n();
  const queries = useQueryClient();
  const query = useLive<ReclassificationView>({
    options: getReclassificationOptions({ path: { version } }),
    isFinal: ({ status }) => status === 'DONE',
    onChange: () => void queries.invalidateQueries(),
  });
  if (query.isError) return <Failed query={query} />;
  if (query.data === undefined) return null;
  const { status, judged, total, changedAssets, createdAt } = query.data;
  const isOver = status === 'DONE';
  const end = t('rules.reassessed', { count: changedAssets });
  return (
    <Card>
      <CardBody>
        <LiveProgress
          name={t('rules.reassessing')}
          percent={isOver ? ALL : Math.floor((judged / Math.max(1, total)) * ALL)}
          counted={isOver ? end : t('rules.reassessing.counted', { judged, total })}
          startedAt={createdAt}
          isOver={isOver}
          isGood
          end={end}
        />
      </CardBody>
    </Card>
  );
}
