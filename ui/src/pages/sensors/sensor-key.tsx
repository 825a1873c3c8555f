import type { NewSensorView } from '../../api/generated/types.gen.js';
import { useI18n } from '../../i18n/i18n.js';
import { SecretOnce } from '../../patterns/secret-once.js';

/** SensorKey shows a sensor's key once, with the command for its first heartbeat. */
export function SensorKey({ of: { name, key }, onClose }: { of: NewSensorView; onClose: () => void }) {
  const { t } = useI18n();
  const command = `curl -sS "${location.origin}/api/sensors/heartbeat" -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" -d '{}'`;
  return (
    <SecretOnce
      title={name}
      secrets={[
        [t('nav.apiKey'), key],
        [t('sensors.firstHeartbeat'), command],
      ]}
      onClose={onClose}
    />
  );
}
