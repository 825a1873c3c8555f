import { Button } from '@patternfly/react-core';
import CalendarAltIcon from '@patternfly/react-icons/dist/esm/icons/calendar-alt-icon';
import { useState } from 'react';
import { listRotationPoliciesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { removeRotationPolicy } from '../../api/generated/sdk.gen.js';
import type { RotationPolicyView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { RotationPolicyDialog } from './rotation-policy-dialog.js';

const CHANGES = ['listRotationPolicies'];

/** RotationPoliciesPage lists the policies that rotate SSH keys by age. */
export function RotationPoliciesPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isCreating, setCreating] = useState(false);
  const [changed, setChanged] = useState<RotationPolicyView>();
  const [removed, setRemoved] = useState<RotationPolicyView>();
  const canRotate = may('keys:rotate');
  const add = canRotate && <Button onClick={() => setCreating(true)}>{t('rotationPolicies.create')}</Button>;
  return (
    <PageFrame title={t('nav.rotationPolicies')} lead={t('rotationPolicies.lead')} actions={add}>
      <ResourceList<RotationPolicyView>
        name={t('nav.rotationPolicies')}
        list={(query) => listRotationPoliciesOptions({ query })}
        rowKey={({ id }) => id}
        icon={CalendarAltIcon}
        emptyTitle={t('rotationPolicies.none')}
        emptyBody={t('rotationPolicies.none.body')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 20, cell: ({ name }) => <strong>{name}</strong> },
          {
            name: t('rotationPolicies.keys'),
            width: 25,
            cell: ({ maxAgeDays, keyOwner }) => (
              <>
                {t('rotationPolicies.older', { count: maxAgeDays })}
                {keyOwner !== undefined && <div className="sw-muted">{keyOwner}</div>}
              </>
            ),
          },
          {
            name: t('rotationPolicies.heldBack'),
            width: 20,
            cell: ({ heldBack }) =>
              heldBack.length === 0 ? (
                '–'
              ) : (
                <ul>
                  {heldBack.map(({ keyId, fingerprint, detail }) => (
                    <li key={keyId}>
                      <Go to={`/ssh-keys/${keyId}`}>
                        <span className="sw-mono">{fingerprint.slice(0, 19)}…</span>
                      </Go>
                      <div className="sw-muted">{detail}</div>
                    </li>
                  ))}
                </ul>
              ),
          },
          { name: t('rotationPolicies.window'), cell: ({ window }) => <Hours window={window} /> },
          { name: t('rotationPolicies.mostPerHour.short'), cell: ({ mostPerHour }) => mostPerHour },
          {
            name: t('sshKeys.rotate.onFailure.short'),
            cell: ({ onFailure }) => t(`sshKeys.rotate.${onFailure}`),
          },
          { name: t('rotationPolicies.due'), cell: ({ dueAt }) => <Moment at={dueAt} /> },
          {
            name: t('rotationPolicies.madeBy'),
            cell: ({ madeBy, pausedBecause }) => (
              <>
                {madeBy}
                {pausedBecause !== undefined && <div className="sw-muted">{pausedBecause}</div>}
              </>
            ),
          },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              canRotate && (
                <RowActions
                  of={row.name}
                  actions={[
                    { name: t('edit'), run: () => setChanged(row) },
                    { name: t('remove'), run: () => setRemoved(row), isDanger: true },
                  ]}
                />
              ),
          },
        ]}
      />
      {isCreating && <RotationPolicyDialog onClose={() => setCreating(false)} />}
      {changed !== undefined && <RotationPolicyDialog of={changed} onClose={() => setChanged(undefined)} />}
      {removed !== undefined && <Remove of={removed} onClose={() => setRemoved(undefined)} />}
    </PageFrame>
  );
}

/** Hours shows a maintenance window as times of day. */
function Hours({ window }: Pick<RotationPolicyView, 'window'>) {
  const { t } = useI18n();
  if (window === undefined) return t('rotationPolicies.window.always');
  const clock = (hour: number) => `${String(hour).padStart(2, '0')}:00`;
  return (
    <span className="sw-nowrap">
      {t('rotationPolicies.window.hours', { from: clock(window.from), to: clock(window.to) })}
    </span>
  );
}

function Remove({ of: { id, name }, onClose }: { of: RotationPolicyView; onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => removeRotationPolicy({ path: { id } }), {
    changes: CHANGES,
    done: t('removed'),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('rotationPolicies.remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
