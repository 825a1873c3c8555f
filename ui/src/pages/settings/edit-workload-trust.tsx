import { ifMatch } from '../../api/client.js';
import { changeWorkloadTrust, createWorkloadTrust } from '../../api/generated/sdk.gen.js';
import type { WorkloadIssuerView, WorkloadTrustBody, WorkloadTrustView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { conditionsIn, useClaimsField } from '../../patterns/claim-conditions.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

/** Permissions that a workload token can grant. The API rejects all other permissions. */
const SCOPES: readonly WorkloadTrustBody['scopes'][number][] = [
  'sign:digest',
  'sign:read',
  'signing-keys:read',
  'timestamps:issue',
  'ssh-ca:login',
];
const MIN_LIFE_SECONDS = 60;
const MAX_LIFE_SECONDS = 900;

/** Defaults of a new trust. */
const NEW: Omit<WorkloadTrustBody, 'issuerId' | 'conditions'> = {
  name: '',
  audience: '',
  pullRequests: false,
  scopes: ['sign:digest', 'sign:read'],
  keys: [],
  lifeSeconds: MAX_LIFE_SECONDS,
  dpopBound: false,
  certificateBound: false,
};

/** trustBodyOf returns the request body that leaves a trust unchanged, as a base for changes. */
export function trustBodyOf(of: WorkloadTrustView): WorkloadTrustBody {
  const { name, issuerId, audience, conditions, pullRequests, scopes, keys, lifeSeconds, enabled } = of;
  const { dpopBound, certificateBound } = of;
  const order = { name, issuerId, audience, conditions, pullRequests, scopes, keys, lifeSeconds, enabled };
  return { ...order, dpopBound, certificateBound };
}

interface EditTrustProps {
  readonly of?: WorkloadTrustView;
  readonly issuers: readonly WorkloadIssuerView[];
  readonly onClose: () => void;
}

export function EditTrust({ of, issuers, onClose }: EditTrustProps) {
  const { t, named } = useI18n();
  const { may } = useSession();
  const { name, audience, pullRequests, scopes, keys, lifeSeconds, dpopBound, certificateBound } = of ?? NEW;
  const conditions = useClaimsField({
    name: 'conditions',
    label: t('claims.conditions'),
    hint: t('claims.conditions.hint'),
    isRequired: true,
    value: of?.conditions,
  });
  const action = useAction(
    async (values: Values, once): Promise<{ data: unknown }> => {
      const body = {
        ...values,
        keys: values['keys'] ?? [],
        conditions: conditionsIn(values['conditions']),
        ...(of === undefined ? {} : { enabled: of.enabled }),
      } as never;
      return of === undefined
        ? createWorkloadTrust({ body, headers: once })
        : changeWorkloadTrust({ path: { id: of.id }, body, headers: ifMatch(of.version) });
    },
    { changes: ['listWorkloadTrusts'], done: t('saved') },
  );
  const options = SCOPES.filter((scope) => may(scope)).map((value) => ({
    value,
    label: value,
    hint: named('scope', value, ''),
  }));
  return (
    <FormDialog
      title={of?.name ?? t('trusts.create')}
      lead={t('trusts.edit.lead')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, value: name, placeholder: 'app releases' },
        {
          name: 'issuerId',
          kind: 'choice',
          label: t('issuers.issuer'),
          isRequired: true,
          options: issuers.map((one) => ({ value: one.id, label: `${one.name} (${one.issuer})` })),
          ...(of === undefined ? {} : { value: of.issuerId }),
        },
        { name: 'audience', label: t('trusts.audience'), hint: t('trusts.audience.hint'), value: audience },
        conditions,
        {
          name: 'pullRequests',
          kind: 'yes',
          label: t('trusts.pullRequests'),
          hint: t('trusts.pullRequests.hint'),
          value: pullRequests,
        },
        {
          name: 'scopes',
          kind: 'choices',
          label: t('scopes'),
          isRequired: true,
          options,
          value: scopes,
        },
        {
          name: 'keys',
          kind: 'lines',
          label: t('policies.keys'),
          hint: t('policies.keys.hint'),
          value: keys.join('\n'),
        },
        {
          name: 'lifeSeconds',
          kind: 'number',
          label: t('trusts.life'),
          isRequired: true,
          min: MIN_LIFE_SECONDS,
          max: MAX_LIFE_SECONDS,
          value: lifeSeconds,
        },
        {
          name: 'dpopBound',
          kind: 'yes',
          label: t('trusts.dpopBound'),
          hint: t('trusts.dpopBound.hint'),
          value: dpopBound,
        },
        {
          name: 'certificateBound',
          kind: 'yes',
          label: t('trusts.certificateBound'),
          hint: t('trusts.certificateBound.hint'),
          value: certificateBound,
        },
      ]}
    />
  );
}
