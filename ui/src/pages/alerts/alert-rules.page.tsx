import { Button } from '@patternfly/react-core';
import BellIcon from '@patternfly/react-icons/dist/esm/icons/bell-icon';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import { listAlertRulesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changeAlertRule, removeAlertRule, testAlertRule } from '../../api/generated/sdk.gen.js';
import type { AlertRuleView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { duration } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Problem } from '../../patterns/problem.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { AlertRuleDialog } from './alert-rule-dialog.js';
import { Severity } from './alerts.page.js';

const CHANGES = ['listAlertRules'];
const MINUTE = 60_000;

interface Dialog {
  readonly kind: 'edit' | 'remove';
  /** Undefined for a new rule. */
  readonly of?: AlertRuleView;
}

export function AlertRulesPage() {
  const { t, language } = useI18n();
  const { may } = useSession();
  const [dialog, setDialog] = useState<Dialog>();
  const close = () => setDialog(undefined);
  const canWrite = may('alerts:write');
  const toggle = useAction(
    ({ id, enabled, version }: AlertRuleView) =>
      changeAlertRule({ path: { id }, body: { enabled: !enabled }, headers: ifMatch(version) }),
    { changes: CHANGES, done: t('saved') },
  );
  const test = useAction((id: string) => testAlertRule({ path: { id } }), {
    changes: ['listAlerts'],
    done: t('alertRules.tested'),
  });
  const add = canWrite && <Button onClick={() => setDialog({ kind: 'edit' })}>{t('alertRules.create')}</Button>;
  const failed = toggle.error ?? test.error;
  return (
    <PageFrame title={t('nav.alertRules')} lead={t('alertRules.lead')} actions={add}>
      {failed && <Problem error={failed} />}
      <ResourceList<AlertRuleView>
        name={t('nav.alertRules')}
        list={() => listAlertRulesOptions()}
        rowKey={({ id }) => id}
        icon={BellIcon}
        emptyTitle={t('alertRules.none')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 25, cell: ({ id, name }) => <Go to={`/alerts?rule=${id}`}>{name}</Go> },
          { name: t('alertRules.condition'), width: 25, cell: (row) => <Condition of={row} /> },
          { name: t('severity'), cell: ({ severity }) => <Severity severity={severity} /> },
          { name: t('status'), cell: ({ enabled }) => <StatusLabel status={enabled ? 'ACTIVE' : 'DISABLED'} /> },
          {
            name: t('alertRules.coolDown.short'),
            cell: ({ coolDownMinutes }) => (coolDownMinutes === 0 ? '–' : duration(coolDownMinutes * MINUTE, language)),
          },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              canWrite && (
                <RowActions
                  of={row.name}
                  actions={[
                    { name: t('edit'), run: () => setDialog({ kind: 'edit', of: row }) },
                    { name: t('alertRules.test'), run: () => test.mutate(row.id) },
                    { name: t(row.enabled ? 'disable' : 'enable'), run: () => toggle.mutate(row) },
                    { name: t('remove'), run: () => setDialog({ kind: 'remove', of: row }), isDanger: true },
                  ]}
                />
              ),
          },
        ]}
      />
      {dialog?.kind === 'edit' && <AlertRuleDialog of={dialog.of} onClose={close} />}
      {dialog?.kind === 'remove' && dialog.of !== undefined && <Remove of={dialog.of} onClose={close} />}
    </PageFrame>
  );
}

function Condition({ of: { condition, parameters } }: { of: AlertRuleView }) {
  const { t, named } = useI18n();
  const counted =
    parameters.level !== undefined
      ? t('alertRules.fromLevel', { level: named('level', parameters.level) })
      : parameters.days !== undefined && t('alertRules.withinDays', { count: parameters.days });
  return (
    <>
      {named('condition', condition)}
      {counted && <div className="sw-muted">{counted}</div>}
    </>
  );
}

function Remove({ of: { id, name, version }, onClose }: { of: AlertRuleView; onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => removeAlertRule({ path: { id }, headers: ifMatch(version) }), {
    changes: CHANGES,
    done: t('removed'),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
