import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../../test/support/service.js';
import { seconds } from './copy-limits.js';

/** Changes a rule through the API and waits until all assets have been reclassified. */
export async function judgeAnew(service: Service, key: string): Promise<{ time: number; changed: number }> {
  const { body: rules } = await service.call('GET', '/api/quantum-risk/rules', { key });
  const { id, target, ...rule } = rules.items.find((one: { id: string }) => one.id === 'Q-ECDSA-128');
  let changed = 0;
  const time = await seconds(async () => {
    const { body: made } = await service.call('PUT', `/api/quantum-risk/rules/${id}`, {
      key,
      headers: { 'if-match': `"${rules.version}"` },
      body: { ...rule, ...(target === null ? {} : { target }), level: 'CRITICAL' },
    });
    for (let status = ''; status !== 'DONE'; await sleep(100)) {
      const { body } = await service.call('GET', `/api/quantum-risk/reclassifications/${made.version}`, { key });
      ({ status } = body);
      changed = body.changedAssets;
    }
  });
  return { time, changed };
}
