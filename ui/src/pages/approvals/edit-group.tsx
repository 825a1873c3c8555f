import { ifMatch } from '../../api/client.js';
import { changeApproverGroup, createApproverGroup } from '../../api/generated/sdk.gen.js';
import type { ApproverGroupView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useUserOptions } from '../../patterns/person.js';
import { useAction } from '../../patterns/use-action.js';

/** EditGroup creates or edits an approver group. */
export function EditGroup({ of, onClose }: { of?: ApproverGroupView; onClose: () => void }) {
  const { t } = useI18n();
  const options = useUserOptions();
  const action = useAction(
    async (values: Values, once): Promise<{ data: unknown }> => {
      const body = values as never;
      return of === undefined
        ? createApproverGroup({ body, headers: once })
        : changeApproverGroup({ path: { id: of.id }, body, headers: ifMatch(of.version) });
    },
    { changes: ['listApproverGroups'], done: t('saved') },
  );
  return (
    <FormDialog
      title={of?.name ?? t('groups.create')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '' },
        options === undefined
          ? { name: 'members', kind: 'lines', label: t('groups.memberIds'), value: of?.members.join('\n') ?? '' }
          : { name: 'members', kind: 'choices', label: t('groups.members'), options, value: of?.members ?? [] },
        {
          name: 'ssoGroups',
          kind: 'rows',
          label: t('groups.sso'),
          hint: t('groups.sso.hint'),
          add: t('groups.sso.add'),
          columns: [
            { name: 'provider', label: t('groups.sso.provider'), placeholder: 'main' },
            { name: 'group', label: t('groups.sso.group'), placeholder: 'release-managers' },
          ],
          value: of?.ssoGroups.map((one) => ({ ...one })) ?? [],
        },
      ]}
    />
  );
}
