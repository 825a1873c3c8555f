import { ifMatch } from '../../api/client.js';
import { annotateAsset } from '../../api/generated/sdk.gen.js';
import type { AssetDetailView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

/** AnnotateDialog edits the owner and labels of an asset. Empty fields remove them. */
export function AnnotateDialog({ asset, onClose }: { asset: AssetDetailView; onClose: () => void }) {
  const { t } = useI18n();
  const { id, name, owner, labels, version } = asset;
  const action = useAction(
    (values: Values) =>
      annotateAsset({
        path: { id },
        body: { owner: values['owner'] ?? null, labels: values['labels'] ?? [] } as never,
        headers: ifMatch(version),
      }),
    { changes: ['getAsset', 'listAssets', 'getSummary', 'countByOwner'], done: t('saved') },
  );
  return (
    <FormDialog
      title={name}
      lead={t('asset.annotate.lead')}
      submit={t('save')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'owner', label: t('asset.owner'), hint: t('asset.owner.hint'), value: owner ?? '' },
        {
          name: 'labels',
          kind: 'lines',
          label: t('asset.labels'),
          hint: t('asset.labels.hint'),
          value: labels.join('\n'),
        },
      ]}
    />
  );
}
