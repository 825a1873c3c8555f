import { Button } from '@patternfly/react-core';
import BellIcon from '@patternfly/react-icons/dist/esm/icons/bell-icon';
import { useState } from 'react';
import { ifMatch, onceOnly } from '../../api/client.js';
import { listAlertRulesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changeAlertRule, createAlertRule, removeAlertRule, testAlertRule } from '../../api/generated/sdk.gen.js';
import type { AlertRuleView, CreateAlertRuleBody } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Problem } from '../../patterns/problem.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { Severity } from './alerts.page.js';

/** Those that need no numbers first; what a rule may be told beyond this is in its parameters. */
const CONDITIONS: readonly CreateAlertRuleBody['condition'][] = [
  'asset-new',
  'risk-threshold',
  'risk-changed',
  'certificate-expiring',
  'sensor-silent',
  'scan-failed',
  'drift',
];
const CHANGES = ['listAlertRules'];

export function AlertRulesPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [isCreating, setCreating] = useState(false);
  const [removed, setRemoved] = useState<AlertRuleView>();
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
  const add = canWrite && <Button onClick={() => setCreating(true)}>{t('alertRules.create')}</Button>;
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
        emptyBody={t('alertRules.lead')}
        emptyAction={add}
        columns={[
          { name: t('name'), width: 25, cell: ({ id, name }) => <Go to={`/alerts?rule=${id}`}>{name}</Go> },
          { name: t('alertRules.condition'), width: 25, cell: ({ condition }) => named('condition', condition) },
          { name: t('severity'), cell: ({ severity }) => <Severity severity={severity} /> },
          { name: t('status'), cell: ({ enabled }) => <StatusLabel status={enabled ? 'ACTIVE' : 'DISABLED'} /> },
          { name: t('alertRules.coolDown'), cell: ({ coolDownMinutes }) => coolDownMinutes },
          {
            name: t('actions'),
            isAction: true,
            cell: (row) =>
              canWrite && (
                <RowActions
                  of={row.name}
                  actions={[
                    { name: t('webhooks.test'), run: () => test.mutate(row.id) },
                    { name: t(row.enabled ? 'disable' : 'enable'), run: () => toggle.mutate(row) },
                    { name: t('remove'), run: () => setRemoved(row), isDanger: true },
                  ]}
                />
              ),
          },
        ]}
      />
      {isCreating && <Create onClose={() => setCreating(false)} />}
      {removed !== undefined && <Remove of={removed} onClose={() => setRemoved(undefined)} />}
    </PageFrame>
  );
}

function Create({ onClose }: { onClose: () => void }) {
  const { t, named } = useI18n();
  const create = useAction((values: Values) => createAlertRule({ body: values as never, headers: onceOnly() }), {
    changes: CHANGES,
    done: t('saved'),
  });
  const options = (prefix: string, values: readonly string[]) =>
    values.map((value) => ({ value, label: named(prefix, value) }));
  return (
    <FormDialog
      title={t('alertRules.create')}
      submit={t('create')}
      action={create}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true },
        {
          name: 'condition',
          kind: 'choice',
          label: t('alertRules.condition'),
          isRequired: true,
          options: options('condition', CONDITIONS),
        },
        {
          name: 'severity',
          kind: 'choice',
          label: t('severity'),
          isRequired: true,
          options: options('severity', ['warning', 'critical', 'info']),
        },
        { name: 'emails', kind: 'lines', label: t('alertRules.emails'), hint: t('alertRules.emails.hint') },
        { name: 'coolDownMinutes', kind: 'number', label: t('alertRules.coolDown'), min: 0, value: 60 },
      ]}
    />
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
