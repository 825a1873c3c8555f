import { Button, Card, CardBody, CardHeader, CardTitle, List, ListItem, StackItem } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import CircleIcon from '@patternfly/react-icons/dist/esm/icons/circle-icon';
import TimesIcon from '@patternfly/react-icons/dist/esm/icons/times-icon';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  getSummaryOptions,
  listSigningKeysOptions,
  listSigningRequestsOptions,
} from '../../api/generated/@tanstack/react-query.gen.js';
import { useSession } from '../../app/session.js';
import { type MessageKey, useI18n } from '../../i18n/i18n.js';
import { Go } from '../../patterns/go.js';

const HIDDEN = 'sealwright.first-steps';

interface Step {
  readonly name: MessageKey;
  readonly why: MessageKey;
  readonly to: string;
  readonly isDone: boolean | undefined;
}

/** FirstSteps is a checklist for a new installation, derived from existing data. It is hidden when complete or dismissed. */
export function FirstSteps() {
  const { t } = useI18n();
  const [isHidden, setHidden] = useState(localStorage.getItem(HIDDEN) === 'hidden');
  const steps = useSteps();
  if (isHidden || steps.length === 0 || steps.some(({ isDone }) => isDone === undefined)) return null;
  if (steps.every(({ isDone }) => isDone)) return null;
  const hide = () => {
    localStorage.setItem(HIDDEN, 'hidden');
    setHidden(true);
  };
  return (
    <StackItem>
      <Card isCompact>
        <CardHeader
          actions={{
            actions: <Button variant="plain" icon={<TimesIcon />} aria-label={t('firstSteps.hide')} onClick={hide} />,
          }}
        >
          <CardTitle component="h2">{t('firstSteps.title')}</CardTitle>
        </CardHeader>
        <CardBody>
          <List isPlain isBordered>
            {steps.map(({ name, why, to, isDone }) => (
              <ListItem
                key={name}
                icon={isDone ? <CheckCircleIcon className="sw-good" /> : <CircleIcon className="sw-muted" />}
              >
                <Go to={to}>{t(name)}</Go>
                <span className="sw-hidden">{t(isDone ? 'firstSteps.done' : 'firstSteps.open')}</span>
                <div className="sw-muted">{t(why)}</div>
              </ListItem>
            ))}
          </List>
        </CardBody>
      </Card>
    </StackItem>
  );
}

function useSteps(): Step[] {
  const { may } = useSession();
  const keys = useQuery({ ...listSigningKeysOptions({ query: { limit: 1 } }), enabled: may('signing-keys:write') });
  const requests = useQuery({ ...listSigningRequestsOptions({ query: { limit: 6 } }), enabled: may('sign:digest') });
  const summary = useQuery({ ...getSummaryOptions(), enabled: may('inventory:write') });
  const steps: (Step | false)[] = [
    may('signing-keys:write') && {
      name: 'firstSteps.key',
      why: 'firstSteps.key.why',
      to: '/keys',
      isDone: keys.data && keys.data.items.length > 0,
    },
    may('sign:digest') && {
      name: 'firstSteps.sign',
      why: 'firstSteps.sign.why',
      to: '/sign',
      isDone: requests.data && requests.data.items.length > 0,
    },
    may('inventory:write') && {
      name: 'firstSteps.inventory',
      why: 'firstSteps.inventory.why',
      to: '/imports',
      isDone: summary.data && summary.data.total > 0,
    },
  ];
  return steps.filter((step) => step !== false);
}
