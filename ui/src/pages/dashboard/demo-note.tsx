import { Alert, AlertActionLink, StackItem } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { getDemoOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { removeDemo } from '../../api/generated/sdk.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import type { Values } from '../../patterns/form-fields.js';
import { useAction } from '../../patterns/use-action.js';

/** DemoNote indicates that the inventory contains demo data and offers to remove it. */
export function DemoNote() {
  const { t } = useI18n();
  const { may } = useSession();
  const [isAsking, setAsking] = useState(false);
  const { data } = useQuery({ ...getDemoOptions(), enabled: may('inventory:read') });
  if (data === undefined || data.sources === 0) return null;
  return (
    <StackItem>
      <Alert
        component="h2"
        isInline
        variant="info"
        title={t('demo.title')}
        {...(may('inventory:write') && {
          actionLinks: <AlertActionLink onClick={() => setAsking(true)}>{t('demo.remove')}</AlertActionLink>,
        })}
      >
        {t('demo.body')}
      </Alert>
      {isAsking && <Remove onClose={() => setAsking(false)} />}
    </StackItem>
  );
}

function Remove({ onClose }: { onClose: () => void }) {
  const { t } = useI18n();
  const queries = useQueryClient();
  const action = useAction((_values: Values) => removeDemo(), {
    changes: [],
    done: t('demo.removed'),
    // Most figures include demo data.
    onDone: () => void queries.invalidateQueries(),
  });
  return (
    <Confirm
      title={t('demo.remove')}
      lead={t('demo.remove.lead')}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}
