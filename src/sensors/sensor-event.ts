import type { Announcement } from '../events/event-announcer.service.js';

/** sensorEvent returns the announcement for a sensor that connected or became silent. */
export function sensorEvent(
  type: 'sensor.connected' | 'sensor.silent',
  { id, name }: { readonly id: string; readonly name: string },
  more: { readonly lastHeartbeatAt?: Date } = {},
): Announcement {
  const title = type === 'sensor.silent' ? `Sensor ${name} is silent` : `Sensor ${name} is connected`;
  return {
    type,
    subject: { kind: 'sensor', id },
    at: new Date(),
    data: { sensorId: id, name, ...more },
    title,
    facts: [{ name: 'Sensor', value: name }],
  };
}
