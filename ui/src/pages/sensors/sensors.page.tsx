import { Button } from '@patternfly/react-core';
import SatelliteDishIcon from '@patternfly/react-icons/dist/esm/icons/satellite-dish-icon';
import { useState } from 'react';
import { listSensorsOptions } from '../../api/generated/@tanstack/react-query.gen.js';
import { registerSensor } from '../../api/generated/sdk.gen.js';
import type { NewSensorView, SensorView } from '../../api/generated/types.gen.js';
import { useSession } from '../../app/session.js';
import { useI18n } from '../../i18n/i18n.js';
import { FormDialog } from '../../patterns/form-dialog.js';
import type { Field, Values } from '../../patterns/form-fields.js';
import { Go } from '../../patterns/go.js';
import { StatusLabel } from '../../patterns/labels.js';
import { Moment } from '../../patterns/moment.js';
import { PageFrame } from '../../patterns/page-frame.js';
import { ResourceList } from '../../patterns/resource-list.js';
import { useAction } from '../../patterns/use-action.js';
import { inDays } from '../settings/api-keys.page.js';
import { SensorKey } from './sensor-key.js';

const KINDS: readonly SensorView['kind'][] = ['host', 'network', 'repository', 'cloud', 'other'];
const REFRESH = 10_000;

/** hasReported reports whether a sensor has sent a heartbeat. Only a heartbeat sets the address; other times start at registration. */
export const hasReported = ({ lastAddress }: SensorView): boolean => lastAddress !== null;

/** sensorState returns the state of a sensor. A sensor that never sent a heartbeat differs from one that stopped. */
export function sensorState(sensor: SensorView): string {
  if (!sensor.enabled) return 'DISABLED';
  if (!hasReported(sensor)) return 'AWAITED';
  return sensor.silentSince === null ? 'ACTIVE' : 'SILENT';
}

export function useSensorFields(of?: SensorView): Field[] {
  const { t, named } = useI18n();
  return [
    { name: 'name', label: t('name'), isRequired: true, value: of?.name ?? '' },
    {
      name: 'kind',
      kind: 'choice',
      label: t('kind'),
      isRequired: true,
      options: KINDS.map((value) => ({ value, label: named('sensorKind', value) })),
      ...(of === undefined ? {} : { value: of.kind }),
    },
    {
      name: 'heartbeatSeconds',
      kind: 'number',
      label: t('sensors.heartbeatSeconds'),
      hint: t('sensors.heartbeatSeconds.hint'),
      min: 10,
      max: 86_400,
      value: of?.heartbeatSeconds ?? 60,
    },
    {
      name: 'configuration',
      kind: 'json',
      label: t('sensors.configuration'),
      hint: t('sensors.configuration.hint'),
      value: of?.configuration ?? { paths: ['/etc/ssl'] },
    },
  ];
}

export function SensorsPage() {
  const { t, named } = useI18n();
  const { may } = useSession();
  const [isRegistering, setRegistering] = useState(false);
  const [made, setMade] = useState<NewSensorView>();
  const add = may('sensors:write') && <Button onClick={() => setRegistering(true)}>{t('sensors.register')}</Button>;
  return (
    <PageFrame title={t('nav.sensors')} lead={t('sensors.lead')} actions={add}>
      <ResourceList<SensorView>
        name={t('nav.sensors')}
        list={(query) => listSensorsOptions({ query })}
        rowKey={({ id }) => id}
        icon={SatelliteDishIcon}
        refresh={() => REFRESH}
        emptyTitle={t('sensors.none')}
        emptyBody={t('sensors.none.body')}
        emptyAction={add}
        columns={[
          {
            name: t('name'),
            width: 20,
            cell: ({ id, name }) => (
              <Go to={`/sensors/${id}`} className="sw-row-link">
                {name}
              </Go>
            ),
          },
          { name: t('kind'), cell: ({ kind }) => named('sensorKind', kind) },
          { name: t('status'), cell: (row) => <StatusLabel status={sensorState(row)} /> },
          {
            name: t('sensors.lastHeartbeat'),
            cell: (row) => <Moment at={hasReported(row) ? row.lastHeartbeatAt : null} />,
          },
          { name: t('sensors.lastScan'), cell: ({ lastScanAt }) => <Moment at={lastScanAt} /> },
          { name: t('sensors.lastError'), width: 30, cell: ({ lastError }) => lastError ?? '–' },
        ]}
      />
      {isRegistering && <Register onClose={() => setRegistering(false)} onMade={setMade} />}
      {made !== undefined && <SensorKey of={made} onClose={() => setMade(undefined)} />}
    </PageFrame>
  );
}

function Register({ onClose, onMade }: { onClose: () => void; onMade: (sensor: NewSensorView) => void }) {
  const { t } = useI18n();
  const fields = useSensorFields();
  const action = useAction((values: Values, once) => registerSensor({ body: values as never, headers: once }), {
    changes: ['listSensors'],
    onDone: onMade,
  });
  return (
    <FormDialog
      title={t('sensors.register')}
      lead={t('sensors.register.lead')}
      submit={t('sensors.register')}
      action={action}
      onClose={onClose}
      fields={[
        ...fields,
        { name: 'expiry', kind: 'day', label: t('sensors.expiry'), isRequired: true, value: inDays(90) },
      ]}
    />
  );
}
