import { ifMatch } from '../../api/client.js';
import { changeSshLoginRule, createSshLoginRule } from '../../api/generated/sdk.gen.js';
import type { SshAuthorityView, SshLoginRuleBody, SshLoginRuleView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { conditionsIn, useClaimsField } from '../../patterns/claim-conditions.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';
import { useLimitFields } from './certificate-limits.js';

const MINUTE_SECONDS = 60;
const DEFAULT_MINUTES = 15;
const MAX_MINUTES = 24 * 60;
const SUBJECTS: readonly SshLoginRuleView['subject'][] = ['workload', 'person'];

/** minutesOf rounds seconds to whole minutes, at least one. */
export const minutesOf = (seconds: number): number => Math.max(1, Math.round(seconds / MINUTE_SECONDS));

/** loginRuleBodyOf returns the request body that leaves a rule unchanged, as a base for changes. */
export function loginRuleBodyOf(of: SshLoginRuleView): SshLoginRuleBody {
  const { id: _id, version: _version, createdAt: _made, updatedAt: _changed, ...body } = of;
  const { sourceAddress, forceCommand, ...rest } = body;
  return {
    ...rest,
    ...(sourceAddress === null ? {} : { sourceAddress }),
    ...(forceCommand === null ? {} : { forceCommand }),
  };
}

interface EditLoginRuleProps {
  readonly of?: SshLoginRuleView;
  readonly authorities: readonly SshAuthorityView[];
  readonly onClose: () => void;
}

export function EditLoginRule({ of, authorities, onClose }: EditLoginRuleProps) {
  const { t, named } = useI18n();
  const conditions = useClaimsField({
    name: 'conditions',
    label: t('claims.conditions'),
    hint: t('claims.conditions.hint'),
    isRequired: true,
    value: of?.conditions,
  });
  const limits = useLimitFields(of);
  const isForUsers = ({ authorityId }: Values) => authorities.find(({ id }) => id === authorityId)?.kind !== 'host';
  const action = useAction(
    async ({ minutes, ...values }: Values, once): Promise<{ data: unknown }> => {
      const isKept = of !== undefined && minutesOf(of.lifeSeconds) === minutes;
      const body = {
        ...values,
        conditions: conditionsIn(values['conditions']),
        lifeSeconds: isKept ? of.lifeSeconds : Number(minutes) * MINUTE_SECONDS,
        ...(of === undefined ? {} : { enabled: of.enabled }),
      } as never;
      return of === undefined
        ? createSshLoginRule({ body, headers: once })
        : changeSshLoginRule({ path: { id: of.id }, body, headers: ifMatch(of.version) });
    },
    { changes: ['listSshLoginRules'], done: t('saved') },
  );
  const bind: Field = {
    name: 'bindAddress',
    kind: 'yes',
    label: t('loginRules.bind'),
    hint: t('loginRules.bind.hint'),
    value: of?.bindAddress ?? false,
  };
  return (
    <FormDialog
      title={of?.name ?? t('loginRules.create')}
      lead={t('loginRules.edit.lead')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '', placeholder: 'deploy jobs' },
        {
          name: 'authorityId',
          kind: 'choice',
          label: t('sshCa.one'),
          isRequired: true,
          hint: t('loginRules.authority.hint'),
          options: authorities.map(({ id, name, kind }) => ({
            value: id,
            label: `${name} (${named('sshCaKind', kind)})`,
          })),
          ...(of === undefined ? {} : { value: of.authorityId }),
        },
        {
          name: 'subject',
          kind: 'choice',
          label: t('claims.caller'),
          isRequired: true,
          hint: t('loginRules.subject.hint'),
          options: SUBJECTS.map((value) => ({ value, label: named('loginSubject', value) })),
          value: of?.subject ?? 'workload',
        },
        conditions,
        {
          name: 'principals',
          kind: 'lines',
          label: t('sshCa.principals'),
          isRequired: true,
          hint: t('loginRules.principals.hint'),
          value: of?.principals.join('\n') ?? '',
        },
        {
          name: 'minutes',
          kind: 'number',
          label: t('loginRules.life'),
          isRequired: true,
          min: 1,
          max: MAX_MINUTES,
          value: of === undefined ? DEFAULT_MINUTES : minutesOf(of.lifeSeconds),
        },
        ...[bind, ...limits].map((field) => ({ ...field, when: isForUsers })),
      ]}
    />
  );
}
