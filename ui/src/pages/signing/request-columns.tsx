import type { SigningRequestView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import type { Column } from '../../patterns/data-table.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { VerifiedLine } from '../../patterns/verified-identity.js';
import { fileNameOf } from './signing-request.js';

/** useRequestColumns returns the columns of a list of signing requests. */
export function useRequestColumns(): Column<SigningRequestView>[] {
  const { t, named } = useI18n();
  return [
    {
      name: t('requests.file'),
      width: 35,
      cell: (row) => (
        <>
          <Go to={`/requests/${row.requestId}`} className="sw-row-link">
            {fileNameOf(row) ?? <span className="sw-mono">{row.requestId}</span>}
          </Go>
          {row.verified !== undefined && (
            <div>
              <VerifiedLine identity={row.verified} />
            </div>
          )}
        </>
      ),
    },
    { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
    { name: t('key'), cell: ({ key }) => `${key.name} v${key.version}` },
    { name: t('requests.format'), cell: ({ format, algorithm }) => `${named('format', format)}, ${algorithm}` },
    { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
  ];
}
