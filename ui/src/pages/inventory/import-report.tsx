import { Alert, Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core';
import type { IngestView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { Go } from '../../patterns/go.js';
import { Figure } from '../dashboard/figures.js';

interface Remark {
  readonly pointer: string;
  readonly code: string;
  readonly detail: string;
}

/** ImportReport shows the counts of an import, its rejected and repaired entries, and its warnings. */
export function ImportReport({ report }: { report: IngestView }) {
  const { t, language } = useI18n();
  const lists: readonly [string, readonly Remark[]][] = [
    [t('imports.rejected'), report.rejected],
    [t('imports.repairs'), report.repairs],
    [t('imports.warnings'), report.warnings],
  ];
  const figures = (['received', 'created', 'updated', 'unchanged', 'ignored'] as const).map((name) => (
    <Figure
      key={name}
      name={t(`imports.${name}`)}
      value={report[name].toLocaleString(language)}
      hint={t(`imports.${name}.hint`)}
    />
  ));
  return (
    <Stack hasGutter>
      <StackItem>
        <Alert
          component="h2"
          isInline
          variant={report.rejected.length > 0 ? 'warning' : 'success'}
          title={t('imports.done', { format: report.format })}
        >
          <Go to={`/assets?source=${encodeURIComponent(report.source)}`}>
            {t('imports.see', { source: report.source })}
          </Go>
        </Alert>
      </StackItem>
      <StackItem>
        <div className="sw-grid sw-grid--small">{figures}</div>
      </StackItem>
      {lists
        .filter(([, remarks]) => remarks.length > 0)
        .map(([name, remarks]) => (
          <StackItem key={name}>
            <Card isCompact>
              <CardTitle component="h2">{`${name} (${remarks.length.toLocaleString(language)})`}</CardTitle>
              <CardBody>
                <DataTable<Remark>
                  name={name}
                  rows={remarks}
                  rowKey={({ pointer, code, detail }) => `${pointer} ${code} ${detail}`}
                  empty={null}
                  columns={[
                    { name: t('imports.pointer'), cell: ({ pointer }) => <span className="sw-mono">{pointer}</span> },
                    { name: t('imports.code'), cell: ({ code }) => <span className="sw-mono">{code}</span> },
                    { name: t('imports.detail'), width: 50, cell: ({ detail }) => detail },
                  ]}
                />
              </CardBody>
            </Card>
          </StackItem>
        ))}
    </Stack>
  );
}
