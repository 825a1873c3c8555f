import { Button, EmptyState } from '@patternfly/react-core';
import TagIcon from '@patternfly/react-icons/dist/esm/icons/tag-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listOwnNamesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { forgetName } from '../../api/generated/sdk.gen.js';
import type { OwnNameView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Day } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { useAction } from '../../patterns/use-action.js';
import { TeachNameDialog } from './teach-name-dialog.js';

/** Names of algorithms that people taught. */
export function OwnNamesPage() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isTeaching, setTeaching] = useState(false);
  const query = useQuery(listOwnNamesOptions());
  const forget = useAction((name: string) => forgetName({ query: { name } }), {
    changes: ['listOwnNames', 'getAsset', 'listAssets', 'getSummary', 'listRiskRules'],
    done: t('names.forgotten'),
  });
  const mayWrite = may('inventory:write');
  return (
    <PageFrame
      title={t('nav.ownNames')}
      lead={t('names.lead')}
      actions={mayWrite && <Button onClick={() => setTeaching(true)}>{t('names.teach')}</Button>}
    >
      <DataTable<OwnNameView>
        name={t('nav.ownNames')}
        query={query}
        rowKey={({ name }) => name}
        empty={<EmptyState headingLevel="h2" titleText={t('names.none')} icon={TagIcon} />}
        columns={[
          { name: t('names.name'), cell: ({ name }) => <span className="sw-mono">{name}</span> },
          { name: t('names.means'), cell: ({ means }) => <span className="sw-mono">{means}</span> },
          { name: t('names.reason'), width: 40, cell: ({ reason }) => reason },
          { name: t('names.at'), cell: ({ at }) => <Day at={at} /> },
          {
            name: '',
            cell: ({ name }) =>
              mayWrite && (
                <Button variant="link" isDanger isDisabled={forget.isPending} onClick={() => forget.mutate(name)}>
                  {t('names.forget')}
                </Button>
              ),
          },
        ]}
      />
      {isTeaching && <TeachNameDialog onClose={() => setTeaching(false)} />}
    </PageFrame>
  );
}
