import {
  ActionList,
  ActionListItem,
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  Stack,
  StackItem,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ifMatch } from '../../api/client.js';
import { getSensorOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { changeSensor, disableSensor, removeSensor, renewSensorKey } from '../../api/generated/sdk.gen.js';
import type { NewSensorView, SensorView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { Confirm } from '../../patterns/confirm.js';
import { Command } from '../../patterns/copyable.js';
import { Facts } from '../../patterns/facts.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Values } from '../../patterns/form-fields.js';
import { StatusLabel } from '../../patterns/labels.js';
import { duration, Moment } from '../../patterns/moment.js';
import { ResourcePage, useResourceId } from '../../patterns/resource-page.js';
import { useAction } from '../../patterns/use-action.js';
import { inDays } from '../settings/api-keys.page.js';
import { SensorKey } from './sensor-key.js';
import { sensorState, useSensorFields, hasReported } from './sensors.page.js';

const SECOND = 1000;
const CHANGES = ['getSensor', 'listSensors'];
const REFRESH = 5000;

type Act = 'edit' | 'renew' | 'disable' | 'remove';

export function SensorPage() {
  const { t } = useI18n();
  const query = useQuery({ ...getSensorOptions({ path: { id: useResourceId() } }), refetchInterval: REFRESH });
  return (
    <ResourcePage
      query={query}
      kind={t('sensor')}
      parent={{ to: '/sensors', name: t('nav.sensors') }}
      title={(sensor) => sensor.name}
      badge={(sensor) => <StatusLabel status={sensorState(sensor)} />}
      actions={(sensor) => <Actions sensor={sensor} />}
    >
      {(sensor) => <Details sensor={sensor} />}
    </ResourcePage>
  );
}

function Actions({ sensor }: { sensor: SensorView }) {
  const { t } = useI18n();
  const { may } = useSession();
  const [act, setAct] = useState<Act>();
  const [made, setMade] = useState<NewSensorView>();
  const close = () => setAct(undefined);
  if (!may('sensors:write')) return null;
  const usable: readonly Act[] = ['edit', 'renew', ...(sensor.enabled ? (['disable'] as const) : []), 'remove'];
  return (
    <>
      <ActionList>
        {usable.map((one) => (
          <ActionListItem key={one}>
            <Button variant="secondary" isDanger={one === 'remove'} onClick={() => setAct(one)}>
              {t(one === 'edit' || one === 'remove' || one === 'disable' ? one : 'sensors.renew')}
            </Button>
          </ActionListItem>
        ))}
      </ActionList>
      {act === 'edit' && <Edit sensor={sensor} onClose={close} />}
      {act === 'renew' && <Renew sensor={sensor} onClose={close} onMade={setMade} />}
      {act === 'disable' && <Disable sensor={sensor} onClose={close} />}
      {act === 'remove' && <Remove sensor={sensor} onClose={close} />}
      {made !== undefined && <SensorKey of={made} onClose={() => setMade(undefined)} />}
    </>
  );
}

interface DialogProps {
  readonly sensor: SensorView;
  readonly onClose: () => void;
}

function Edit({ sensor, onClose }: DialogProps) {
  const { t } = useI18n();
  const fields = useSensorFields(sensor);
  const action = useAction(
    (values: Values) => changeSensor({ path: { id: sensor.id }, body: values, headers: ifMatch(sensor.version) }),
    { changes: CHANGES, done: t('saved') },
  );
  return <FormDialog title={t('edit')} submit={t('save')} action={action} onClose={onClose} fields={fields} />;
}

function Renew({ sensor, onClose, onMade }: DialogProps & { readonly onMade: (sensor: NewSensorView) => void }) {
  const { t } = useI18n();
  const action = useAction((values: Values) => renewSensorKey({ path: { id: sensor.id }, body: values as never }), {
    changes: CHANGES,
    onDone: onMade,
  });
  return (
    <FormDialog
      title={t('sensors.renew')}
      lead={t('sensors.renew.lead')}
      submit={t('sensors.renew')}
      action={action}
      onClose={onClose}
      fields={[
        { name: 'expiry', kind: 'day', label: t('sensors.expiry'), isRequired: true, value: inDays(90) },
        { name: 'overlapHours', kind: 'number', label: t('apiKeys.overlap'), value: 24, min: 0, max: 168 },
      ]}
    />
  );
}

function Disable({ sensor: { id, name }, onClose }: DialogProps) {
  const { t } = useI18n();
  const action = useAction((_values: Values) => disableSensor({ path: { id } }), {
    changes: CHANGES,
    done: t('saved'),
  });
  return (
    <Confirm
      title={t('disable')}
      lead={t('sensors.disable.lead', { name })}
      submit={t('disable')}
      action={action}
      onClose={onClose}
    />
  );
}

function Remove({ sensor: { id, name }, onClose }: DialogProps) {
  const { t } = useI18n();
  const navigate = useNavigate();
  const action = useAction((_values: Values) => removeSensor({ path: { id } }), {
    changes: ['listSensors'],
    done: t('removed'),
    onDone: () => void navigate({ to: '/sensors' }),
  });
  return (
    <Confirm
      title={t('remove')}
      lead={t('sensors.remove.lead', { name })}
      submit={t('remove')}
      action={action}
      onClose={onClose}
    />
  );
}

function Details({ sensor }: { sensor: SensorView }) {
  const { t, named, language } = useI18n();
  return (
    <Stack hasGutter>
      {sensor.lastError !== null && (
        <StackItem>
          <Alert component="h2" isInline variant="warning" title={t('sensors.lastError')}>
            {sensor.lastError} (<Moment at={sensor.lastErrorAt} />)
          </Alert>
        </StackItem>
      )}
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('request.facts')}</CardTitle>
          <CardBody>
            <Facts
              facts={[
                [t('kind'), named('sensorKind', sensor.kind)],
                [
                  t('sensors.lastHeartbeat'),
                  <Moment key="h" at={hasReported(sensor) ? sensor.lastHeartbeatAt : null} />,
                ],
                [t('sensors.silentSince'), sensor.silentSince && <Moment key="s" at={sensor.silentSince} />],
                [
                  t('sensors.heartbeat'),
                  t('schedules.every', { time: duration(sensor.heartbeatSeconds * SECOND, language) }),
                ],
                [t('audit.source'), sensor.lastAddress],
                [t('version'), sensor.softwareVersion],
                [t('sensors.lastScan'), <Moment key="l" at={sensor.lastScanAt} />],
                [t('sensors.lastScanAssets'), sensor.lastScanAssets?.toLocaleString(language)],
                [t('created'), <Moment key="c" at={sensor.createdAt} exact />],
              ]}
            />
          </CardBody>
        </Card>
      </StackItem>
      <StackItem>
        <Card>
          <CardTitle component="h2">{t('sensors.configuration')}</CardTitle>
          <CardBody>
            {Object.keys(sensor.configuration).length === 0 ? (
              <p className="sw-muted">{t('sensors.configuration.none')}</p>
            ) : (
              <Command name={t('sensors.configuration')} text={JSON.stringify(sensor.configuration, null, 2)} />
            )}
          </CardBody>
        </Card>
      </StackItem>
    </Stack>
  );
}
