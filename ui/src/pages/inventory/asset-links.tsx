import { useQuery } from '@tanstack/react-query';
import { listAssetBomLinksOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import type { BomLinkView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { Moment } from '../../patterns/moment.js';

/** AssetLinks lists the BOM-Links of an asset, one for each document that contains it. */
export function AssetLinks({ id }: { id: string }) {
  const { t } = useI18n();
  const query = useQuery(listAssetBomLinksOptions({ path: { id } }));
  return (
    <DataTable<BomLinkView>
      name={t('asset.links')}
      query={query}
      rowKey={({ link }) => link}
      empty={<p className="sw-muted">{t('asset.links.none')}</p>}
      columns={[
        { name: t('documents.link'), width: 50, cell: ({ link }) => <Copyable text={link} /> },
        { name: t('asset.source'), cell: ({ document }) => document.source },
        { name: t('documents.format'), cell: ({ document }) => <span className="sw-nowrap">{document.format}</span> },
        { name: t('documents.received'), cell: ({ document }) => <Moment at={document.receivedAt} /> },
      ]}
    />
  );
}
