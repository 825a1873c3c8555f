import { Button, EmptyState } from '@patternfly/react-core';
import TagIcon from '@patternfly/react-icons/dist/esm/icons/tag-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listOwnNamesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { forgetName } from '../../api/generated/sdk.gen.js';
import type { OwnNameView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { DataTable } from '../../patterns/data-table.js';
import type { Values } from '../../patterns/form-fields.js';
import { Day } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';
import { AddNameDialog } from './add-name-dialog.js';

/** OwnNamesPage lists the custom algorithm names. */
export function OwnNamesPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isAdding, setAdding] = useState(false);
  const query = useQuery(listOwnNamesOptions());
  const [removed, setForgotten] = useState<string>();
  const mayWrite = may('inventory:write');
  return (
    <PageFrame
      title={t('nav.ownNames')}
      lead={t('names.lead')}
      actions={mayWrite && <Button onClick={() => setAdding(true)}>{t('names.add')}</Button>}
    >
      <DataTable<OwnNameView>
        name={t('nav.ownNames')}
        query={query}
        rowKey={({ name }) => name}
        empty={<EmptyState headingLevel="h2" titleText={t('names.none')} icon={TagIcon} />}
        columns={[
          { name: t('names.name'), cell: ({ name }) => <span className="sw-mono">{name}</span> },
          { name: t('names.algorithm'), cell: ({ means }) => <span className="sw-mono">{means}</span> },
          { name: t('names.reason'), width: 40, cell: ({ reason }) => reason },
          { name: t('names.addedAt'), cell: ({ at }) => <Day at={at} /> },
          {
            name: t('actions'),
            isAction: true,
            cell: ({ name }) =>
              mayWrite && (
                <RowActions
                  of={name}
                  actions={[{ name: t('names.remove'), run: () => setForgotten(name), isDanger: true }]}
                />
              ),
          },
        ]}
      />
      {removed !== undefined && <RemoveName name={removed} onClose={() => setForgotten(undefined)} />}
      {isAdding && <AddNameDialog onClose={() => setAdding(false)} />}
    </PageFrame>
  );
}

/** RemoveName asks for confirmation, because removing a name reassesses all assets. */
function RemoveName({ name, onClose }: { name: string; onClose: () => void }) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => forgetName({ query: { name } }), {
    changes: ['listOwnNames', 'getAsset', 'listAssets', 'getSummary', 'listRiskRules'],
    done: t('names.removed'),
  });
  const lead = t('names.remove.lead', { name });
  return <Confirm title={t('names.remove')} lead={lead} submit={t('names.remove')} action={action} onClose={onClose} />;
}
