import { useQuery } from '@tanstack/react-query';
import { ifMatch, onceOnly } from '../../api/client.js';
import { listWebhooksOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changeAlertRule, createAlertRule } from '../../api/generated/sdk.gen.js';
import type { AlertRuleView, CreateAlertRuleBody } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { LEVELS } from '../../patterns/labels.js';
import { useAction } from '../../patterns/use-action.js';

type Condition = CreateAlertRuleBody['condition'];

/** In the order in which people look for them: the inventory, what runs by itself, what waits for somebody. */
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
  'approvals-waiting',
  'hsm-down',
];

/** As the API takes it: what the condition counts by are its parameters. */
function bodyOf({ level, days, ...values }: Values): object {
  const parameters = { ...(level === undefined ? {} : { level }), ...(days === undefined ? {} : { days }) };
  return { ...values, parameters };
}

/** A new rule, or one that is there: what it waits for stays as it was made. */
export function AlertRuleDialog({ of, onClose }: { of: AlertRuleView | undefined; onClose: () => void }) {
  const { t } = useI18n();
  const fields = useFields(of);
  const action = useAction(
    (values: Values): Promise<{ data: unknown }> =>
      of === undefined
        ? createAlertRule({ body: bodyOf(values) as never, headers: onceOnly() })
        : changeAlertRule({ path: { id: of.id }, body: bodyOf(values) as never, headers: ifMatch(of.version) }),
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

function useFields(of: AlertRuleView | undefined): readonly Field[] {
  const { t, named } = useI18n();
  const { may } = useSession();
  const webhooks = useQuery({ ...listWebhooksOptions(), enabled: may('webhooks:read') });
  const options = (prefix: string, values: readonly string[]) =>
    values.map((value) => ({ value, label: named(prefix, value) }));
  const waitsFor = (condition: Condition) => (values: Values) => (of?.condition ?? values['condition']) === condition;
  const condition: Field = {
    name: 'condition',
    kind: 'choice',
    label: t('alertRules.condition'),
    isRequired: true,
    options: options('condition', CONDITIONS),
  };
  const endpoints = (webhooks.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }));
  return [
    { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '' },
    ...(of === undefined ? [condition] : []),
    {
      name: 'level',
      kind: 'choice',
      label: t('assets.minLevel'),
      isRequired: true,
      options: options('level', LEVELS),
      value: of?.parameters.level ?? 'CRITICAL',
      when: waitsFor('risk-threshold'),
    },
    {
      name: 'days',
      kind: 'number',
      label: t('alertRules.days'),
      min: 1,
      max: 365,
      value: of?.parameters.days ?? 30,
      when: waitsFor('certificate-expiring'),
    },
    {
      name: 'severity',
      kind: 'choice',
      label: t('severity'),
      isRequired: true,
      options: options('severity', ['info', 'warning', 'critical']),
      value: of?.severity ?? 'warning',
    },
    {
      name: 'grouping',
      kind: 'choice',
      label: t('alertRules.grouping'),
      isRequired: true,
      options: options('grouping', ['subject', 'rule']),
      value: of?.grouping ?? 'subject',
    },
    {
      name: 'coolDownMinutes',
      kind: 'number',
      label: t('alertRules.coolDown'),
      min: 0,
      max: 10_080,
      value: of?.coolDownMinutes ?? 60,
    },
    {
      name: 'emails',
      kind: 'lines',
      label: t('alertRules.emails'),
      hint: t('alertRules.emails.hint'),
      value: (of?.emails ?? []).join('\n'),
    },
    ...(endpoints.length === 0
      ? []
      : [
          {
            name: 'webhooks',
            kind: 'choices',
            label: t('nav.webhooks'),
            hint: t('alertRules.webhooks.hint'),
            options: endpoints,
            value: of?.webhooks ?? [],
          } as const,
        ]),
  ];
}
