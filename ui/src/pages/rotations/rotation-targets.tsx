import { Button, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listRotationTargetsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { skipRotationTarget } from '../../api/generated/sdk.gen.js';
import type { RotationTargetView, RotationView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useUrlState } from '../../app/url-state.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command } from '../../patterns/copyable.js';
import { type Column, DataTable } from '../../patterns/data-table.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { HostLink } from '../ssh/host-link.js';
import { RotationSteps } from './rotation-steps.js';

const SKIPPABLE = ['OPEN', 'FAILED_PRECHECK', 'BLOCKED'];

/** Targets lists the targets of a rotation with their states, blockers and line-by-line changes. */
export function Targets({ rotation }: { rotation: RotationView }) {
  const { t } = useI18n();
  const { one } = useUrlState();
  const [looked, setLooked] = useState<RotationTargetView>();
  const cursor = one('cursor');
  const path = { id: rotation.id };
  const query = useQuery(listRotationTargetsOptions({ path, query: cursor === undefined ? {} : { cursor } }));
  const columns = useColumns(rotation, setLooked);
  const targets = query.data?.items ?? [];
  const diffs = targets.flatMap(({ diffs: files, account }) => files.map((file) => ({ account, file })));
  return (
    <Stack hasGutter>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('rotations.targets')}</CardTitle>
          <CardBody>
            <DataTable<RotationTargetView>
              name={t('rotations.targets')}
              query={query}
              rowKey={({ id }) => id}
              empty={<p className="sw-muted">{t('asset.nowhere')}</p>}
              columns={columns}
            />
          </CardBody>
        </Card>
      </StackItem>
      {diffs.length > 0 && (
        <StackItem>
          <Card>
            <CardTitle component="h2">{t('rotations.diff')}</CardTitle>
            <CardBody>
              <Stack hasGutter>
                {diffs.map(({ account, file }, index) => (
                  <StackItem key={`${account} ${index}`}>
                    <Command name={`${account} ${file.path}`} text={file.result} />
                  </StackItem>
                ))}
              </Stack>
            </CardBody>
          </Card>
        </StackItem>
      )}
      {looked !== undefined && (
        <RotationSteps
          target={targets.find(({ id }) => id === looked.id) ?? looked}
          onClose={() => setLooked(undefined)}
        />
      )}
    </Stack>
  );
}

function useColumns(
  { id: rotationId, dryRun }: RotationView,
  look: (target: RotationTargetView) => void,
): readonly Column<RotationTargetView>[] {
  const { t, named } = useI18n();
  const { may } = useSession();
  const skip = useAction((targetId: string) => skipRotationTarget({ path: { id: rotationId, targetId } }), {
    changes: ['getRotation', 'listRotation'],
    done: t('saved'),
  });
  return [
    { name: t('host'), cell: ({ hostId }) => <HostLink id={hostId} /> },
    { name: t('sshKeys.account'), cell: ({ account }) => account },
    { name: t('rotations.wave'), cell: ({ wave }) => wave },
    {
      name: t('rotations.state'),
      cell: (target) =>
        target.steps.length === 0 ? (
          named('target', target.state)
        ) : (
          <Button variant="link" isInline onClick={() => look(target)}>
            {named('target', target.state)}
          </Button>
        ),
    },
    { name: t('audit.outcome'), cell: ({ outcome }) => named('target', outcome) },
    {
      name: t('imports.detail'),
      width: 30,
      cell: ({ failure, warnings }) => failure?.detail ?? (warnings.join(', ') || '–'),
    },
    {
      name: t('actions'),
      isAction: true,
      cell: ({ id, account, outcome }) =>
        may('keys:rotate') &&
        !dryRun &&
        SKIPPABLE.includes(outcome) && (
          <RowActions of={account} actions={[{ name: t('rotations.skip'), run: () => skip.mutate(id) }]} />
        ),
    },
  ];
}
