import { Alert } from '@patternfly/react-core';
import GlobeIcon from '@patternfly/react-icons/dist/esm/icons/globe-icon';
import { useQuery } from '@tanstack/react-query';
import { getWebhookOptions, listWebhookDeliveriesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { redeliverWebhook } from '../../api/generated/sdk.gen.js';
import type { WebhookDeliveryView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { RowActions } from '../../patterns/row-actions.js';
import { useAction } from '../../patterns/use-action.js';

/** WebhookPage lists the deliveries of a webhook with attempts and responses. */
export function WebhookPage() {
  const { t } = useI18n();
  const id = useResourceId();
  const { may } = useSession();
  const query = useQuery(getWebhookOptions({ path: { id } }));
  const again = useAction((delivery: string) => redeliverWebhook({ path: { id: delivery } }), {
    changes: ['listWebhookDeliveries'],
    done: t('webhooks.redelivered'),
  });
  return (
    <ResourcePage
      query={query}
      kind={t('webhook')}
      parent={{ to: '/settings/webhooks', name: t('nav.webhooks') }}
      title={(webhook) => webhook.name}
      lead={(webhook) => webhook.url}
      badge={(webhook) => <StatusLabel status={webhook.enabled ? 'ACTIVE' : 'DISABLED'} />}
    >
      {({ disabledReason }) => (
        <>
          {disabledReason && <Alert component="h2" isInline variant="warning" title={disabledReason} />}
          <ResourceList<WebhookDeliveryView>
            name={t('webhooks.deliveries')}
            list={(page) => listWebhookDeliveriesOptions({ path: { id }, query: page })}
            rowKey={(row) => row.id}
            icon={GlobeIcon}
            emptyTitle={t('webhooks.noDeliveries')}
            refresh={() => 5000}
            columns={[
              { name: t('webhooks.event'), cell: ({ type }) => <span className="sw-mono">{type}</span> },
              { name: t('status'), cell: ({ status }) => <StatusLabel status={status} /> },
              { name: t('webhooks.attempts'), cell: ({ attempts }) => attempts },
              { name: t('webhooks.answer'), cell: ({ log }) => log.at(-1)?.status ?? log.at(-1)?.failure ?? '–' },
              { name: t('created'), cell: ({ createdAt }) => <Moment at={createdAt} /> },
              {
                name: t('webhooks.nextTry'),
                cell: ({ nextTryAt }) => (nextTryAt === null ? '–' : <Moment at={nextTryAt} />),
              },
              {
                name: t('actions'),
                isAction: true,
                cell: (row) =>
                  may('webhooks:write') && (
                    <RowActions
                      of={row.type}
                      actions={[{ name: t('webhooks.redeliver'), run: () => again.mutate(row.id) }]}
                    />
                  ),
              },
            ]}
          />
        </>
      )}
    </ResourcePage>
  );
}
