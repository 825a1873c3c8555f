import { Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import type { RotationTargetView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { DataTable } from '../../patterns/data-table.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';

type Step = RotationTargetView['steps'][number];

/** RotationSteps lists the steps on an account with the host's responses. */
export function RotationSteps({ target, onClose }: { target: RotationTargetView; onClose: () => void }) {
  const { t, named } = useI18n();
  return (
    <Modal isOpen variant="large" onClose={onClose} aria-labelledby="steps-title">
      <ModalHeader title={t('rotations.steps', { account: target.account })} labelId="steps-title" />
      <ModalBody>
        <DataTable<Step>
          name={t('rotations.steps', { account: target.account })}
          rows={target.steps}
          rowKey={({ step, startedAt }) => `${step} ${startedAt}`}
          empty={null}
          columns={[
            { name: t('rotations.state'), cell: ({ step }) => named('rotationStep', step) },
            { name: t('status'), cell: ({ outcome }) => <StatusLabel status={outcome} /> },
            { name: t('scans.startedAt'), cell: ({ startedAt }) => <Moment at={startedAt} exact /> },
            {
              name: t('imports.detail'),
              width: 45,
              cell: ({ detail }) => <span className="sw-mono">{detailText(detail)}</span>,
            },
          ]}
        />
      </ModalBody>
    </Modal>
  );
}

function detailText(detail: Step['detail']): string {
  const facts = Object.entries(detail).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return facts.join(', ') || '–';
}
