import { inDays } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';

export interface RegisteredSensor {
  readonly id: string;
  readonly key: string;
}

let made = 0;

/** @param by credential with which the sensor is registered */
export async function registerSensor(service: Service, by: string, more: object = {}): Promise<RegisteredSensor> {
  const body = { name: `sensor ${(made += 1)}`, kind: 'host', heartbeatSeconds: 10, expiry: inDays(30), ...more };
  const answer = await service.call('POST', '/api/sensors', { key: by, body });
  if (answer.status !== 201) throw new Error(`no sensor was registered: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export function beat(service: Service, key: string, body: object = {}): Promise<Answer> {
  return service.call('POST', '/api/sensors/heartbeat', { key, body });
}
