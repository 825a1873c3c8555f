import { Stack, StackItem } from '@patternfly/react-core';
import { importHosts } from '../../api/generated/sdk.gen.js';
import type { ImportedItemView, ImportHostsBody, ImportReportView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { useToast } from '../../patterns/toasts.js';
import { useAction } from '../../patterns/use-action.js';

const FORMATS: readonly ImportHostsBody['format'][] = [
  'csv',
  'known-hosts',
  'ssh-config',
  'list',
  'ansible-ini',
  'ansible-yaml',
  'ansible-json',
];

/** ImportHosts imports hosts from pasted text. A dry run first reports the outcome of each line. */
export function ImportHosts({ onClose }: { onClose: () => void }) {
  const { t, named } = useI18n();
  const notify = useToast();
  const bodyOf = ({ skip, ...rest }: Values, dryRun: boolean) =>
    ({ ...rest, onRefusal: skip === true ? 'skip' : 'abort', dryRun }) as unknown as ImportHostsBody;
  const action = useAction((values: Values) => importHosts({ body: bodyOf(values, false) }), {
    changes: ['listHosts'],
    onDone: ({ counts }) => notify(t('hosts.imported', { count: counts['created'] ?? 0 })),
  });
  const trial = useAction((values: Values) => importHosts({ body: bodyOf(values, true) }), { changes: [] });
  return (
    <FormDialog
      title={t('hosts.import')}
      lead={t('hosts.import.lead')}
      submit={t('import')}
      action={action}
      onClose={onClose}
      trial={{
        name: t('hosts.import.try'),
        action: trial,
        found: trial.data !== undefined && <Report report={trial.data} />,
      }}
      fields={[
        {
          name: 'format',
          kind: 'choice',
          label: t('hosts.import.format'),
          isRequired: true,
          options: FORMATS.map((value) => ({ value, label: named('hostFormat', value) })),
        },
        {
          name: 'text',
          kind: 'area',
          label: t('hosts.import.text'),
          isRequired: true,
          placeholder: 'name,address\nweb-1,192.0.2.10',
        },
        { name: 'skip', kind: 'yes', label: t('hosts.import.skip'), hint: t('hosts.import.skip.hint') },
        { name: 'pin', kind: 'yes', label: t('hosts.import.pin'), hint: t('hosts.import.pin.hint') },
      ]}
    />
  );
}

function Report({ report: { items } }: { report: ImportReportView }) {
  const { t, named } = useI18n();
  const refused = items.filter(({ outcome }) => outcome === 'refused').length;
  return (
    <Stack hasGutter>
      <StackItem>
        <strong>{t('hosts.import.found', { count: items.length - refused, of: items.length })}</strong>
      </StackItem>
      <StackItem>
        <DataTable<ImportedItemView>
          name={t('hosts.import.try')}
          rows={items}
          rowKey={({ pointer, name }) => `${pointer} ${name}`}
          empty={null}
          columns={[
            { name: t('hosts.import.location'), cell: ({ pointer }) => <span className="sw-mono">{pointer}</span> },
            { name: t('name'), width: 25, cell: ({ name }) => <strong>{name}</strong> },
            { name: t('status'), cell: ({ outcome }) => named('hostOutcome', outcome) },
            {
              name: t('imports.detail'),
              width: 40,
              cell: ({ errors, ignored }) => [...errors.map(({ detail }) => detail), ...ignored].join('; ') || '–',
            },
          ]}
        />
      </StackItem>
    </Stack>
  );
}
