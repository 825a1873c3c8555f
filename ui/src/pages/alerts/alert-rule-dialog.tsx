import { useQuery } from '@tanstack/react-query';
import { ifMatch } from '../../api/client.js';
import { listWebhooksOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changeAlertRule, createAlertRule } from '../../api/generated/sdk.gen.js';
import type { AlertRuleView, CreateAlertRuleBody } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Option, Values } from '../../patterns/form-fields.js';
import { LEVELS } from '../../patterns/labels.js';
import { useAction } from '../../patterns/use-action.js';

type Condition = CreateAlertRuleBody['condition'];

/** Conditions in display order: inventory, automatic runs, pending decisions. */
const CONDITIONS: readonly Condition[] = [
  'certificate-expiring',
  'asset-new',
  'risk-threshold',
  'risk-changed',
  'policy-violation',
  'scan-failed',
  'sensor-silent',
  'drift',
  'rotation-critical',
  'host-key-changed',
  'approvals-waiting',
  'hsm-down',
  'database-changed',
];

const SEVERITIES = ['info', 'warning', 'critical'];
const GROUPINGS = ['subject', 'rule'];

/** bodyOf returns the request body. The condition's values become its parameters. */
function bodyOf({ level, days, ...values }: Values): object {
  const parameters = { ...(level === undefined ? {} : { level }), ...(days === undefined ? {} : { days }) };
  // An emptied list must be sent, because omitted members stay unchanged.
  return { ...values, emails: values['emails'] ?? [], parameters };
}

/** AlertRuleDialog creates or edits an alert rule. The condition of an existing rule cannot be changed. */
export function AlertRuleDialog({ of, onClose }: { of: AlertRuleView | undefined; onClose: () => void }) {
  const { t } = useI18n();
  const fields = useFields(of);
  const action = useAction(
    (values: Values, once): Promise<{ data: unknown }> =>
      of === undefined
        ? createAlertRule({ body: bodyOf(values) as never, headers: once })
        : changeAlertRule({ path: { id: of.id }, body: bodyOf(values), headers: ifMatch(of.version) }),
    { changes: ['listAlertRules'], done: t('saved') },
  );
  return (
    <FormDialog
      title={of?.name ?? t('alertRules.create')}
      submit={t(of === undefined ? 'create' : 'save')}
      action={action}
      onClose={onClose}
      fields={fields}
    />
  );
}

/** Defaults of a new rule. */
const NEW = {
  name: '',
  condition: undefined,
  parameters: {} as AlertRuleView['parameters'],
  severity: 'warning',
  grouping: 'subject',
  coolDownMinutes: 60,
  emails: [] as readonly string[],
  webhooks: [] as readonly string[],
} as const;

function useFields(of: AlertRuleView | undefined): readonly Field[] {
  const { t, named } = useI18n();
  const webhooks = useWebhooksField(of);
  const { name, condition, parameters, severity, grouping, coolDownMinutes, emails = [] } = of ?? NEW;
  const choice = (field: string, label: string, options: readonly Option[], value?: string): Field => ({
    name: field,
    kind: 'choice',
    label,
    isRequired: true,
    options,
    ...(value === undefined ? {} : { value }),
  });
  const conditions = CONDITIONS.map((one) => ({ value: one, label: named('condition', one) }));
  const levels = LEVELS.map((one) => ({ value: one, label: named('level', one) }));
  const severities = SEVERITIES.map((one) => ({ value: one, label: named('severity', one) }));
  const groupings = GROUPINGS.map((one) => ({ value: one, label: named('grouping', one) }));
  const waitsFor = (one: Condition) => (values: Values) => (condition ?? values['condition']) === one;
  return [
    { name: 'name', label: t('name'), isRequired: true, value: name },
    ...(condition === undefined ? [choice('condition', t('alertRules.condition'), conditions)] : []),
    {
      ...choice('level', t('assets.minLevel'), levels, parameters.level ?? 'CRITICAL'),
      when: waitsFor('risk-threshold'),
    },
    {
      name: 'days',
      kind: 'number',
      label: t('alertRules.days'),
      min: 1,
      max: 365,
      value: parameters.days ?? 30,
      when: waitsFor('certificate-expiring'),
    },
    choice('severity', t('severity'), severities, severity),
    choice('grouping', t('alertRules.grouping'), groupings, grouping),
    {
      name: 'coolDownMinutes',
      kind: 'number',
      label: t('alertRules.coolDown'),
      min: 0,
      max: 10_080,
      value: coolDownMinutes,
    },
    {
      name: 'emails',
      kind: 'lines',
      label: t('alertRules.emails'),
      hint: t('alertRules.emails.hint'),
      value: emails.join('\n'),
    },
    ...webhooks,
  ];
}

/** useWebhooksField returns the field for webhooks if any exist and the person may view them. */
function useWebhooksField(of: AlertRuleView | undefined): readonly Field[] {
  const { t } = useI18n();
  const { may } = useSession();
  const query = useQuery({ ...listWebhooksOptions(), enabled: may('webhooks:read') });
  const options = (query.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }));
  if (options.length === 0) return [];
  const hint = t('alertRules.webhooks.hint');
  return [{ name: 'webhooks', kind: 'choices', label: t('nav.webhooks'), hint, options, value: of?.webhooks ?? [] }];
}
