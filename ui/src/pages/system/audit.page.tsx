import { Alert, Button, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import ClipboardListIcon from '@patternfly/react-icons/dist/esm/icons/clipboard-list-icon';
import DownloadIcon from '@patternfly/react-icons/dist/esm/icons/download-icon';
import { useQuery } from '@tanstack/react-query';
import { getLogCheckpointOptions, listAuditEntriesOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { getLogKey } from '../../api/generated/sdk.gen.js';
import type { AuditEntryView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { Command, Copyable } from '../../patterns/copyable.js';
import { download } from '../../patterns/download.js';
import { Facts } from '../../patterns/facts.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { Problem } from '../../patterns/problem.js';
import { problemOf } from '../../api/problem.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';

const KEY_FILE = 'log.pem';
/** Commands that compare the log with the part this machine has already verified. The key is downloaded only once. */
const VERIFY = `sealwright log verify --key ${KEY_FILE} --state log.state`;

const OUTCOMES = ['done', 'failed', 'refused'];

export function AuditPage() {
  const { t, named } = useI18n();
  return (
    <PageFrame title={t('nav.audit')} lead={t('audit.lead')} actions={<Downloads />}>
      <Stack hasGutter>
        <StackItem>
          <Verification />
        </StackItem>
        <StackItem>
          <ResourceList<AuditEntryView>
            name={t('nav.audit')}
            list={(query) => listAuditEntriesOptions({ query })}
            rowKey={({ id }) => id}
            icon={ClipboardListIcon}
            filters={[
              { kind: 'text', param: 'action', name: t('audit.action') },
              {
                kind: 'choice',
                param: 'outcome',
                name: t('audit.outcome'),
                isSingle: true,
                options: OUTCOMES.map((value) => ({ value, name: named('status', value) })),
              },
              { kind: 'text', param: 'target', name: t('audit.target') },
            ]}
            emptyTitle={t('audit.none')}
            columns={[
              { name: t('audit.at'), cell: ({ at }) => <Moment at={at} exact /> },
              { name: t('audit.action'), cell: ({ action }) => <span className="sw-mono">{action}</span> },
              { name: t('audit.outcome'), cell: ({ outcome }) => <StatusLabel status={outcome} /> },
              {
                name: t('audit.actor'),
                cell: ({ actor, source }) => (
                  <>
                    {actor.name || '–'}
                    {source && <div className="sw-muted">{source}</div>}
                  </>
                ),
              },
              {
                name: t('audit.target'),
                cell: ({ target }) => (
                  <>
                    {target.kind}
                    <div className="sw-nowrap">
                      <Copyable text={target.id} shown={target.id.slice(0, 13)} />
                    </div>
                  </>
                ),
              },
              {
                name: t('problem.requestId'),
                cell: ({ correlation }) => (
                  <span className="sw-nowrap">
                    <Copyable text={correlation} shown={correlation.slice(0, 8)} />
                  </span>
                ),
              },
            ]}
          />
        </StackItem>
      </Stack>
    </PageFrame>
  );
}

/** Downloads offers the whole log and the key that verifies it without this service. */
function Downloads() {
  const { t } = useI18n();
  const readKey = useAction((_nothing: undefined) => getLogKey(), {
    changes: [],
    onDone: ({ publicKey }) => download(KEY_FILE, publicKey),
  });
  return (
    <>
      <Button
        variant="secondary"
        icon={<DownloadIcon />}
        component="a"
        href="/api/v1/audit/log/export"
        download="log.ndjson"
      >
        {t('audit.export')}
      </Button>
      <Button
        variant="secondary"
        icon={<DownloadIcon />}
        isDisabled={readKey.isPending}
        onClick={() => readKey.mutate(undefined)}
      >
        {t('audit.key')}
      </Button>
      {readKey.isError && <Problem error={readKey.error} />}
    </>
  );
}

/** Verification shows the latest checkpoint: size and root of the log. */
function Verification() {
  const { t, language } = useI18n();
  const query = useQuery({ ...getLogCheckpointOptions(), refetchInterval: 10_000, retry: false });
  if (query.isError) {
    return (
      <Alert component="h2" isInline variant="warning" title={t('audit.noCheckpoint')}>
        {problemOf(query.error).facts.detail}
      </Alert>
    );
  }
  if (query.data === undefined) return null;
  const { size, root, at } = query.data;
  return (
    <Card isCompact>
      <CardTitle component="h2">{t('audit.checkpoint')}</CardTitle>
      <CardBody>
        <Facts
          facts={[
            [t('audit.sealed'), size.toLocaleString(language)],
            [t('audit.root'), <Copyable key="r" text={root} />],
            [t('audit.at'), <Moment key="a" at={at} />],
            [t('audit.verify'), <Command key="v" text={VERIFY} name={t('audit.verify')} />],
          ]}
        />
      </CardBody>
    </Card>
  );
}
