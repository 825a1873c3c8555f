import {
  ActionList,
  ActionListItem,
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { getRotationOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { confirmRotation, retryRotation, rollBackRotation } from '../../api/generated/sdk.gen.js';
import type { RotationView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Facts } from '../../patterns/facts.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { LiveProgress } from '../../patterns/live-progress.js';
import { Moment } from '../../patterns/moment.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useAction } from '../../patterns/use-action.js';
import { useLive } from '../../patterns/use-live.js';
import { Targets } from './rotation-targets.js';
import { isUnderWay } from './rotations.page.js';
import { SshKeyLink } from '../ssh/ssh-key-link.js';

const CHANGES = ['getRotation', 'listRotation', 'listSshKey', 'getSshKey'];
const ACTS = { retry: retryRotation, rollback: rollBackRotation, confirm: confirmRotation };
type Act = keyof typeof ACTS;

export function RotationPage() {
  const { t } = useI18n();
  const id = useResourceId();
  const queries = useQueryClient();
  const refresh = useCallback(() => {
    void queries.invalidateQueries({
      predicate: ({ queryKey: [first] }) => (first as { _id?: string } | undefined)?._id === 'listRotationTargets',
    });
  }, [queries]);
  const query = useLive<RotationView>({
    options: getRotationOptions({ path: { id } }),
    events: `/v1/rotations/${id}/events`,
    isFinal: (shown) => !isUnderWay(shown),
    onChange: refresh,
  });
  return (
    <ResourcePage
      query={query}
      kind={t('rotation')}
      parent={{ to: '/rotations', name: t('nav.rotations') }}
      title={({ dryRun }) => (dryRun ? t('rotations.dryRun') : undefined)}
      badge={(rotation) => <StatusLabel status={rotation.status} />}
      percent={(rotation) => (isUnderWay(rotation) ? percentOf(rotation) : undefined)}
      actions={(rotation) => <Actions rotation={rotation} />}
    >
      {(rotation) => (
        <Stack hasGutter>
          {rotation.failure !== undefined && (
            <StackItem>
              <Alert component="h2" isInline variant="danger" title={rotation.failure.code}>
                {rotation.failure.detail}
              </Alert>
            </StackItem>
          )}
          {rotation.warnings.length > 0 && (
            <StackItem>
              <Alert component="h2" isInline variant="warning" title={t('rotations.unread')}>
                <p>{t('rotations.unread.lead')}</p>
                <ul>
                  {rotation.warnings.map((warning) => (
                    <li key={warning}>{warning}</li>
                  ))}
                </ul>
              </Alert>
            </StackItem>
          )}
          <StackItem>
            <Progress rotation={rotation} />
          </StackItem>
          <StackItem>
            <Details rotation={rotation} />
          </StackItem>
          <StackItem>
            <Targets rotation={rotation} />
          </StackItem>
        </Stack>
      )}
    </ResourcePage>
  );
}

/** States of a target in order. Ended targets count as complete. */
const STEPS = ['PLANNED', 'PRECHECKED', 'ADDED', 'VERIFIED', 'PERMANENT', 'RELEASED', 'PROMOTED', 'OVERLAP', 'REMOVED'];
const ALL = 100;

function percentOf(rotation: RotationView): number {
  const places = Object.entries(rotation.progress as Readonly<Record<string, number>>);
  const all = places.reduce((sum, [, count]) => sum + count, 0);
  if (!isUnderWay(rotation)) return ALL;
  const done = places.reduce((sum, [place, count]) => {
    const step = STEPS.indexOf(place);
    return sum + count * (step === -1 ? 1 : step / STEPS.length);
  }, 0);
  return all === 0 ? 0 : Math.min(ALL - 1, Math.floor((done / all) * ALL));
}

function Progress({ rotation }: { rotation: RotationView }) {
  const { t, named } = useI18n();
  const places = Object.entries(rotation.progress as Readonly<Record<string, number>>);
  return (
    <Card>
      <CardBody>
        <LiveProgress
          name={t('rotations.progress')}
          percent={percentOf(rotation)}
          counted={places.map(([place, count]) => `${named('target', place)}: ${count}`).join(', ')}
          isOver={!isUnderWay(rotation)}
          isGood={rotation.status === 'DONE' || rotation.status === 'PLANNED'}
          end={t('rotations.ended', { status: named('status', rotation.status) })}
        />
      </CardBody>
    </Card>
  );
}

function Actions({ rotation: { id, status } }: { rotation: RotationView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [act, setAct] = useState<Act>();
  const action = useAction((_values: Values): Promise<{ data: unknown }> => ACTS[act ?? 'retry']({ path: { id } }), {
    changes: CHANGES,
    done: t('saved'),
  });
  if (!may('keys:rotate')) return null;
  const usable: readonly Act[] = [
    ...(status === 'AWAITING_HOLDER' ? (['confirm'] as const) : []),
    ...(['HALTED', 'CRITICAL'].includes(status) ? (['retry'] as const) : []),
    ...(['RUNNING', 'HALTED', 'AWAITING_HOLDER'].includes(status) ? (['rollback'] as const) : []),
  ];
  return (
    <>
      <ActionList>
        {usable.map((one) => (
          <ActionListItem key={one}>
            <Button variant="secondary" isDanger={one === 'rollback'} onClick={() => setAct(one)}>
              {t(`rotation.${one}`)}
            </Button>
          </ActionListItem>
        ))}
      </ActionList>
      {act !== undefined && (
        <Confirm
          title={t(`rotation.${act}`)}
          lead={t(`rotation.${act}.lead`)}
          submit={t(`rotation.${act}`)}
          action={action}
          onClose={() => setAct(undefined)}
        />
      )}
    </>
  );
}

function Details({ rotation }: { rotation: RotationView }) {
  const { t, named } = useI18n();
  return (
    <Card>
      <CardTitle component="h2">{t('request.facts')}</CardTitle>
      <CardBody>
        <Facts
          facts={[
            [t('rotations.key'), <SshKeyLink key="k" id={rotation.keyId} />],
            [t('rotations.next'), rotation.nextKeyId && <SshKeyLink key="n" id={rotation.nextKeyId} />],
            [
              t('approval'),
              rotation.approvalId && (
                <Go key="a" to={`/approvals/${rotation.approvalId}`}>
                  {t('rotations.approval')}
                </Go>
              ),
            ],
            [t('sshKeys.custody'), named('custody', rotation.custody)],
            [t('created'), <Moment key="c" at={rotation.createdAt} exact />],
            [t('request.finished'), rotation.finishedAt && <Moment key="f" at={rotation.finishedAt} exact />],
          ]}
        />
      </CardBody>
    </Card>
  );
}
