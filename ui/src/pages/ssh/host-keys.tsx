import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { listHostKeysOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { acceptHostKey, pinHostKey, rejectHostKey } from '../../api/generated/sdk.gen.js';
import type { HostKeyView, HostView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Copyable } from '../../patterns/copyable.js';
import { DataTable } from '../../patterns/data-table.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { Problem } from '../../patterns/problem.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';

/** HostKeys lists the keys found on a host and the decision about each. */
export function HostKeys({ host }: { host: HostView }) {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [isPinning, setPinning] = useState(false);
  const query = useQuery(listHostKeysOptions({ path: { id: host.id } }));
  const changes = ['listHostKeys', 'getHost'];
  const accept = useAction((keyId: string) => acceptHostKey({ path: { id: host.id, keyId } }), {
    changes,
    done: t('saved'),
  });
  const reject = useAction((keyId: string) => rejectHostKey({ path: { id: host.id, keyId } }), {
    changes,
    done: t('saved'),
  });
  const pin = useAction((values: Values) => pinHostKey({ path: { id: host.id }, body: values as never }), {
    changes,
    done: t('saved'),
  });
  const failed = accept.error ?? reject.error;
  return (
    <Card>
      <CardTitle component="h2">{t('hosts.hostKeys')}</CardTitle>
      <CardBody>
        {failed && <Problem error={failed} />}
        <DataTable<HostKeyView>
          name={t('hosts.hostKeys')}
          query={query}
          rowKey={({ id }) => id}
          empty={<p className="sw-muted">{t('hosts.noHostKeys')}</p>}
          columns={[
            { name: t('fingerprint'), width: 35, cell: ({ fingerprint }) => <Copyable text={fingerprint} /> },
            { name: t('type'), cell: ({ type, bits }) => [type, bits].filter(Boolean).join(' ') },
            { name: t('status'), cell: ({ state }) => <StatusLabel status={state} /> },
            { name: t('hosts.possession'), cell: ({ possession }) => named('possession', possession) },
            { name: t('hosts.decidedBy'), cell: ({ decidedBy }) => decidedBy ?? '–' },
            { name: t('asset.lastSeen'), cell: ({ lastSeen, firstSeen }) => <Moment at={lastSeen ?? firstSeen} /> },
            {
              name: t('actions'),
              isAction: true,
              cell: ({ id, fingerprint, state }) =>
                may('hosts:write') && (
                  <RowActions
                    of={fingerprint}
                    actions={[
                      state !== 'pinned' && { name: t('hosts.accept'), run: () => accept.mutate(id) },
                      state !== 'rejected' && { name: t('hosts.reject'), run: () => reject.mutate(id), isDanger: true },
                    ]}
                  />
                ),
            },
          ]}
        />
        {may('hosts:write') && (
          <Button variant="link" isInline onClick={() => setPinning(true)}>
            {t('hosts.pin')}
          </Button>
        )}
      </CardBody>
      {isPinning && (
        <FormDialog
          title={t('hosts.pin')}
          lead={t('hosts.pin.lead')}
          submit={t('save')}
          action={pin}
          onClose={() => setPinning(false)}
          fields={[{ name: 'publicKey', kind: 'area', label: t('signature.publicKey'), isRequired: true }]}
        />
      )}
    </Card>
  );
}
