import { ifMatch } from '../../api/client.js';
import { addPolicyPack, changePolicyPack } from '../../api/generated/sdk.gen.js';
import type { PolicyPackView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

const MAX_DAYS = 3660;

interface PolicyPackDialogProps {
  /** Current version, or undefined for a new pack. */
  readonly pack?: OwnPack;
  readonly onClose: () => void;
}

/** OwnPack is a policy pack of the organization. Built-in packs cannot be changed. */
export type OwnPack = PolicyPackView & { readonly revision: number };

/** PolicyPackDialog creates or edits a policy pack. Requirements are checked by a query or assessed manually. */
export function PolicyPackDialog({ pack, onClose }: PolicyPackDialogProps) {
  const { t } = useI18n();
  const action = useAction(
    (values: Values, once) => {
      const body = values as never;
      return pack === undefined
        ? addPolicyPack({ body, headers: once })
        : changePolicyPack({ path: { id: pack.id }, body, headers: ifMatch(pack.revision) });
    },
    { changes: ['listPolicyPacks', 'evaluatePolicy'], done: t('saved') },
  );
  return (
    <FormDialog
      title={t(pack === undefined ? 'policyPacks.create' : 'edit')}
      lead={t(pack === undefined ? 'policyPacks.create.lead' : 'policyPacks.change.lead')}
      submit={t(pack === undefined ? 'create' : 'save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, value: pack?.name },
        {
          name: 'version',
          label: t('version'),
          hint: t('policyPacks.version.hint'),
          isRequired: true,
          value: pack === undefined ? '1.0' : versionAfter(pack.version),
        },
        { name: 'owner', label: t('policyPacks.owner'), isRequired: true, value: pack?.owner },
        {
          name: 'description',
          kind: 'area',
          label: t('policyPacks.about'),
          isRequired: true,
          value: pack?.description,
        },
        {
          name: 'reviewEveryDays',
          kind: 'number',
          label: t('policyPacks.review'),
          isRequired: true,
          min: 1,
          max: MAX_DAYS,
          value: pack?.reviewEveryDays ?? 365,
        },
        {
          name: 'requirements',
          kind: 'rows',
          label: t('attestations.results'),
          hint: t('policyPacks.requirements.hint'),
          isRequired: true,
          add: t('policyPacks.requirements.add'),
          value: pack?.requirements.map(({ check: _derived, q = '', among = '', ...others }) => ({
            ...others,
            q,
            among,
          })),
          columns: [
            { name: 'identifier', label: t('id'), placeholder: 'CRYPTO-1' },
            { name: 'text', label: t('attestations.requirement') },
            { name: 'q', label: t('policyPacks.query'), placeholder: 'family=RSA and bits<3072', isOptional: true },
            { name: 'among', label: t('policyPacks.among'), placeholder: 'family=RSA', isOptional: true },
          ],
        },
      ]}
    />
  );
}

/** versionAfter returns the version with its last number incremented. */
function versionAfter(version: string): string {
  const [last = ''] = /\d{1,9}$/.exec(version) ?? [];
  return last === '' ? `${version} 2` : `${version.slice(0, -last.length)}${Number(last) + 1}`;
}
