import { Button } from '@patternfly/react-core';
import FileIcon from '@patternfly/react-icons/dist/esm/icons/file-code-icon';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { listLinkedDocumentsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { resolveBomLink } from '../../api/generated/sdk.gen.js';
import type { LinkedDocumentView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import { textOf, type Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';

/** DocumentsPage lists all document versions that BOM-Links can refer to. */
export function DocumentsPage() {
  const { t } = useI18n();
  const [isFollowing, setFollowing] = useState(false);
  const follow = <Button onClick={() => setFollowing(true)}>{t('documents.open')}</Button>;
  return (
    <PageFrame title={t('nav.documents')} lead={t('documents.lead')} actions={follow}>
      <ResourceList<LinkedDocumentView>
        name={t('nav.documents')}
        list={(query) => listLinkedDocumentsOptions({ query })}
        rowKey={({ id }) => id}
        icon={FileIcon}
        filters={[{ kind: 'text', param: 'serialNumber', name: t('documents.serialNumber') }]}
        emptyTitle={t('documents.none')}
        emptyBody={t('documents.none.body')}
        columns={[
          { name: t('documents.link'), width: 40, cell: ({ link }) => <Copyable text={link} /> },
          { name: t('asset.source'), cell: ({ source }) => source },
          {
            name: t('documents.version'),
            cell: ({ serialNumber, version, newestVersion }) => (
              <Go to={`/documents?serialNumber=${encodeURIComponent(serialNumber)}`}>
                {t(version === newestVersion ? 'documents.version.newest' : 'documents.version.older', {
                  version,
                  newest: newestVersion,
                })}
              </Go>
            ),
          },
          { name: t('documents.format'), cell: ({ format }) => <span className="sw-nowrap">{format}</span> },
          { name: t('documents.received'), cell: ({ receivedAt }) => <Moment at={receivedAt} /> },
        ]}
      />
      {isFollowing && <Follow onClose={() => setFollowing(false)} />}
    </PageFrame>
  );
}

/** Follow opens the asset or document that a BOM-Link identifies. */
function Follow({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const navigate = useNavigate();
  const action = useAction(({ link }: Values) => resolveBomLink({ query: { link: textOf(link) } }), {
    changes: [],
    onDone: ({ asset, document: { serialNumber } }) =>
      void navigate(
        asset === undefined ? ({ to: '/documents', search: { serialNumber } } as never) : { to: `/assets/${asset.id}` },
      ),
  });
  return (
    <FormDialog
      title={t('documents.open')}
      lead={t('documents.open.lead')}
      submit={t('documents.open')}
      action={action}
      onClose={onClose}
      fields={[
        {
          name: 'link',
          label: t('documents.link'),
          isRequired: true,
          placeholder: 'urn:cdx:3e671687-395b-41f5-a30f-a58921a69b79/1#rsa',
        },
      ]}
    />
  );
}
